"""The files beside a LiteRT file that take texts: for MediaPipe, and with the tokenizer inside."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from kbert.tokenization.vocabulary import VOCABULARY_FILE

from ...folder_names import LABELS_FILE, MEDIAPIPE, TEXT
from ..comparison_data import ComparisonData
from ..flatbuffer import checked_ops
from ..litert_model import LiteRTModel
from .mediapipe_file import mediapipe_content
from .mediapipe_tokenizer import MediaPipeTokenizer
from .other_reading import inside_reasons, mediapipe_reasons, read_otherwise, texts_by_row
from .tokenizer_inside import CUSTOM_OPS, TextLiteRTModel, TokenizerInside, convert_with_tokenizer

_CLASSIFIER, _EMBEDDER = "TextClassifier", "TextEmbedder"  # MediaPipe's names
_CHECKED = 12  # texts that each file is asked
# Of one model in two graphs: what XNNPACK takes of each is not the same, and int8 rounds activations.
_TOLERANCE = {"float32": 1e-4, "float16": 1e-3, "dynamic_int8": 0.05}


class MediaPipeFiles:
    """Files that MediaPipe takes; the texts are read once.

    Args:
      source: the `LiteRTSource`, see `requests.check_mediapipe`.
      task: its task, as it answers.
      length: of the only signature.
      data: the rows of the comparison.

    Attributes:
      reading: the `OtherReading`.

    Raises:
      ValueError: when the rows are not made of single texts.
    """

    prefix = MEDIAPIPE

    def __init__(self, source, task, length: int, data: ComparisonData):
        self._name, self._task, self._vocabulary = (
            Path(source.path).resolve().name,
            task,
            source.loaded.vocabulary,
        )
        tokenizer = MediaPipeTokenizer(source.loaded.vocabulary, length)
        self.reading = read_otherwise(
            "MediaPipe",
            lambda rows: tokenizer([text for (text,) in rows]),
            texts_by_row(task, data),
            data,
            source.loaded.vocabulary.tokens,
            mediapipe_reasons(source.loaded.vocabulary.rules),
        )

    def write(self, path: Path, model, quantization: str) -> dict:
        """Writes a file beside that of `model`, a `LiteRTModel`.

        Returns:
          What it is, ready for JSON: task (MediaPipe's name).

        Raises:
          RuntimeError: when the file does not answer as the one that it is made of.
        """
        beside = [path.with_name(name) for name in (VOCABULARY_FILE, LABELS_FILE)]
        files = {file.name: file.read_bytes() for file in beside if file.exists()}
        output = self._task.serving.one_text_output
        path.write_bytes(mediapipe_content(model.path.read_bytes(), self._name, output, files))
        rows = self.reading.first_rows(_CHECKED)
        answers = LiteRTModel(path, self._vocabulary).answer_ids(rows)
        _require_same(path, answers, {output: model.answer_ids(rows)[output]}, 0.0)
        return {"task": _CLASSIFIER if LABELS_FILE in files else _EMBEDDER}


class FilesWithTokenizer:
    """Files with the tokenizer inside; the texts are read once.

    Args:
      source: the `LiteRTSource`, see `requests.check_tokenizer_inside`.
      task: its task, as it answers.
      signature: "ids" of the task.
      length: of the rows.
      data: the rows of the comparison.

    Attributes:
      reading: the `OtherReading`.

    Raises:
      ValueError: when the rows are made of other texts than the task says.
    """

    prefix = TEXT

    def __init__(self, source, task, signature, length: int, data: ComparisonData):
        self._task, self._signature = task, signature
        self._tokenizer = TokenizerInside(source.loaded.vocabulary, length)
        self._texts = texts_by_row(task, data)
        self.reading = read_otherwise(
            "the tokenizer inside",
            self._read,
            self._texts,
            data,
            source.loaded.vocabulary.tokens,
            inside_reasons(source.loaded.vocabulary.rules),
        )

    def _read(self, rows):
        columns = [tf.constant(column) for column in zip(*rows, strict=True)]
        return {name: value.numpy() for name, value in self._tokenizer(*columns).items()}

    def write(self, path: Path, model, quantization: str) -> dict:
        """Writes a file beside that of `model`, a `LiteRTModel`.

        Returns:
          What it is, ready for JSON: inputs, ops, custom_ops.

        Raises:
          ValueError: for other custom ops than CUSTOM_OPS.
          RuntimeError: when the file does not answer as the one beside it.
        """
        inputs = self._task.serving.row_texts
        content = convert_with_tokenizer(self._signature, inputs, self._tokenizer, quantization)
        ops = checked_ops(content, path.name, CUSTOM_OPS)
        path.write_bytes(content)
        answers = TextLiteRTModel(path)(*map(list, zip(*self._texts[:_CHECKED], strict=True)))
        _require_same(
            path, answers, model.answer_ids(self.reading.first_rows(_CHECKED)), _TOLERANCE[quantization]
        )
        return {"inputs": list(inputs), "ops": ops, "custom_ops": list(CUSTOM_OPS)}


def _require_same(path, answers, expected, tolerance):
    """Raises RuntimeError unless a file answers as the one beside it does to the same reading."""
    for name, values in expected.items():
        scale = max(1.0, float(np.abs(values).max()))
        difference = float(np.abs(answers[name] - values).max())
        if not difference <= tolerance * scale:
            raise RuntimeError(f"{path.name} differs from its ids' file by {difference:.2g} in {name}.")
