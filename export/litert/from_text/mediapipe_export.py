"""Writes the MediaPipe files of an export, each with what MediaPipe's tokenizer does to its answers."""

import tempfile
from pathlib import Path

import numpy as np

from kbert.features import ENCODER_INPUTS

from ...folder_names import VOCABULARY_FILE
from ...labels_file import LABELS_FILE, labels_text
from ..comparison_data import ComparisonData
from ..litert_model import LiteRTModel
from .measured import Measured
from .mediapipe_file import mediapipe_content
from .mediapipe_tokenizer import MediaPipeTokenizer
from .other_reading import quality_of_reading, read_otherwise, rows_of_texts, warn_of_other_reading
from .reasons import mediapipe_reasons

_CLASSIFIER, _EMBEDDER = "TextClassifier", "TextEmbedder"  # MediaPipe's names


class MediaPipeExport:
    """The files of one export: the texts read once.

    Args:
      source: the `LiteRTSource`, see `requests.check_mediapipe`.
      task: its task, as it answers.
      length: of the only signature.
      data: the rows of the comparison.

    Raises:
      ValueError: when the rows are not made of single texts.
    """

    def __init__(self, source, task, length: int, data: ComparisonData):
        self._vocabulary, self._task = source.vocabulary, task
        self._name = Path(source.path).resolve().name
        self._labels = tuple(getattr(task, "labels", ()))
        with tempfile.TemporaryDirectory() as folder:
            vocab_file = Path(folder) / VOCABULARY_FILE
            self._vocabulary.write(vocab_file)
            self._files = {VOCABULARY_FILE: vocab_file.read_bytes()}
            tokenizer = MediaPipeTokenizer(vocab_file, length)
        if self._labels:
            self._files[LABELS_FILE] = labels_text(self._labels).encode("utf-8")
        self._reading = read_otherwise(
            lambda rows: tokenizer(text for (text,) in rows),
            rows_of_texts(task, data),
            data,
            self._vocabulary.tokens,
            mediapipe_reasons,
        )
        warn_of_other_reading("MediaPipe", self._reading)

    def write(self, measured: Measured) -> dict:
        """Writes mediapipe_<quantization>.tflite beside the file.

        Returns:
          A dict ready for JSON: file, bytes, task (MediaPipe's name), the report of the `OtherReading`, and
          `quality_of_reading`.

        Raises:
          RuntimeError: when the file does not answer as the one that it is made of.
        """
        path, output = measured.beside("mediapipe"), self._task.one_text_output
        content = mediapipe_content(measured.path.read_bytes(), self._name, output, self._files)
        path.write_bytes(content)
        self._check(path, measured.model, output)
        return {
            "file": path.name,
            "bytes": len(content),
            "task": _CLASSIFIER if self._labels else _EMBEDDER,
            **self._reading.report,
            **quality_of_reading(self._task, measured, self._reading),
        }

    def _check(self, path, model, output):
        batch = self._reading.data.batches[0]
        rows = {name: np.reshape(batch[name], (-1, batch[name].shape[-1]))[:2] for name in ENCODER_INPUTS}
        found = LiteRTModel(path, self._vocabulary).answer_ids(rows)
        if found.keys() != {output} or not np.array_equal(found[output], model.answer_ids(rows)[output]):
            raise RuntimeError(f"{path.name} does not answer as {model.path.name}; please report it.")
