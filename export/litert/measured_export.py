"""Writes the LiteRT files of a model, each with its report, and refuses a file that is not good enough."""

from pathlib import Path

import numpy as np

from kbert.files.whole_file import write_json
from kbert.reports.page import render
from kbert.tokenization.text_inputs import TextInputs

from .comparison import FLOAT32_TOLERANCE, answers_to, compare, keras_answers, metrics_of
from .comparison_data import comparison_data
from .conversion import convert_to_litert
from .file_ops import checked_ops
from .from_text.measured import Measured
from .from_text.mediapipe_export import MediaPipeExport
from .from_text.text_export import TextExport
from .latency import median_latencies
from .litert_model import LiteRTModel

_THREADS = 2  # while answering the rows of the comparison


class MeasuredExport:
    """The files of one export: the same rows for all, and Keras asked once.

    Args:
      source: the `LiteRTSource`.
      lengths: of the signatures, ascending.
      eval_file, held_out: see `comparison_data`.
      min_agreement: the least share of answers that are those of Keras.
      mediapipe, tokenizer_inside: whether each file gets one for MediaPipe beside it, and one that takes
        texts.

    Attributes:
      task: the model's task, with what evaluations chose (thresholds, a temperature).

    Raises:
      ValueError: when the file does not match the model, or weights or answers are not finite.
    """

    def __init__(
        self,
        source,
        lengths,
        eval_file,
        min_agreement,
        mediapipe=False,
        tokenizer_inside=False,
        held_out=False,
    ):
        self._source, self._lengths, self._min_agreement = source, lengths, min_agreement
        self._vocabulary = source.vocabulary
        self._data = comparison_data(source, eval_file, lengths[-1], held_out)
        self.task, model = source.load()
        text_inputs = TextInputs(self._vocabulary, lengths[-1])
        self._signature = self.task.signatures(model, text_inputs)["ids"]
        self._expected = answers_to(
            self.task, keras_answers(self.task, model, text_inputs, source.path), self._data
        )
        self._keras_metrics = metrics_of(self.task, self._expected, self._data)
        self._from_texts: dict[str, MediaPipeExport | TextExport] = {}
        if mediapipe:
            self._from_texts["mediapipe"] = MediaPipeExport(source, self.task, lengths[-1], self._data)
        if tokenizer_inside:
            inside = TextExport(source, self.task, self._signature, lengths[-1], self._data)
            self._from_texts["tokenizer_inside"] = inside

    def write(self, folder, quantization: str) -> dict:
        """Writes model_<quantization>.tflite and .json into a folder, and what else is made of the file.

        Returns:
          The report, see `export_tflite`.

        Raises:
          ValueError: when an op is not built in, a float32 file differs from Keras by more than rounding, or
            too few answers are Keras's.
        """
        path = folder / f"model_{quantization}.tflite"
        content = convert_to_litert(self._signature, self._lengths, quantization)
        ops = checked_ops(content, path.name)
        path.write_bytes(content)
        report = {
            "file": path.name,
            "bytes": len(content),
            "lengths": list(self._lengths),
            "ops": ops,
            "latency_ms": median_latencies(path, self._vocabulary),
        } | self._quality(path, quantization)
        write_json(report, path.with_suffix(".json"))
        return report

    def page(self, reports: dict) -> str:
        """The HTML page of all reports."""
        title = f"LiteRT files of {Path(self._source.path).resolve().name}"
        best, metrics = self._source.best_metric, self._keras_metrics
        return render("litert.html", title=title, reports=reports, keras_metrics=metrics, best=best)

    def _quality(self, path, quantization) -> dict:
        model = LiteRTModel(path, self._vocabulary, _THREADS)
        answered = answers_to(self.task, model.answer_ids, self._data)
        found = compare(self.task, answered, self._expected, self._data)
        apart = found["relative_difference"]
        if quantization == "float32" and not apart <= FLOAT32_TOLERANCE:
            raise ValueError(f"the float32 file differs from Keras by {apart:.2g}; nothing was exported.")
        self._require_agreement(path.name, found)
        metrics = metrics_of(self.task, answered, self._data)
        both = {"metrics": metrics, "keras_metrics": self._keras_metrics}
        report = {"compared_on": self._data.name} | found | both
        measured = Measured(path, quantization, model, answered, self._expected)
        return report | {key: one.write(measured) for key, one in self._from_texts.items()}

    def _require_agreement(self, name, found):
        if found["agreement"] < self._min_agreement:
            wrong = int(np.round((1 - found["agreement"]) * found["num_answers"]))
            raise ValueError(
                f"{name} gives another answer than Keras to {wrong} of {found['num_answers']} "
                f"({self._data.name}): agreement {found['agreement']:.4f}, --min_agreement="
                f"{self._min_agreement:g}; nothing was exported. Leave its --quantization out, or lower the "
                "share if you can live with that."
            )
