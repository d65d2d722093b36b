"""Writes the LiteRT files of a model, each with its report, and refuses a file that is not good enough."""

import functools
import math
import statistics
import timeit
import zlib

import numpy as np

from kbert.features import ENCODER_INPUTS
from kbert.files.whole_file import write_json
from kbert.tokenization.text_inputs import TextInputs

from .comparison import FLOAT32_TOLERANCE, compare, compute_metrics, keras_answers, predict_rows
from .comparison_data import ComparisonData, full_rows
from .conversion import convert_to_litert
from .flatbuffer import checked_ops
from .from_text.other_reading import reading_quality
from .from_text.text_files import FilesWithTokenizer, MediaPipeFiles
from .litert_model import LiteRTModel

_THREADS = 2  # while answering the rows of the comparison
# Full rows may differ from Keras so many times as much as the others. They repeat themselves, so that near
# ties are usual, and int8 is less exact on long ones (2.8 times, MPNet, 384 tokens). A wrong graph is far
# off.
_MOST_OF_FULL = 6
# Of the measured calls, with XNNPACK, LiteRT's default on CPUs.
_MEASURED_THREADS = (1, 2)
_WARM_UP, _LEAST, _MOST = 3, 5, 50  # calls
_SECONDS = 1.5  # for the calls of one length and number of threads, beyond the least number

_WAYS = {
    "mediapipe": "Prepare the texts of --eval_file as your app does (docs/mobile.md), leave --mediapipe out",
    "tokenizer_inside": "Leave --tokenizer_inside out",
}


class MeasuredExport:
    """The files of one export: the same rows for all, and Keras asked once.

    Args:
      source: the `LiteRTSource`.
      lengths: of the signatures, ascending.
      data: the rows of the comparison.
      min_agreement: the least share of answers that are those of Keras; the number that may differ is
        rounded up.
      mediapipe, tokenizer_inside: whether each file gets one for MediaPipe beside it, and one that takes
        texts.

    Attributes:
      task: the model's task, with what evaluations chose (thresholds, a temperature).
      keras_metrics: of Keras on the rows, see `compute_metrics`.

    Raises:
      ValueError: when the rows do not match the model, or weights or answers are not finite.
    """

    def __init__(
        self, source, lengths, data: ComparisonData, min_agreement, mediapipe=False, tokenizer_inside=False
    ):
        self._lengths, self._data, self._min_agreement = lengths, data, min_agreement
        self._vocabulary = source.loaded.vocabulary
        model = source.loaded.model  # first: reading a run may find a newer checkpoint, with its task
        self.task = source.loaded.task
        text_inputs = TextInputs(source.loaded.vocabulary, lengths[-1])
        self._signature = self.task.serving.signatures(model, text_inputs)["ids"]
        answer = keras_answers(self.task, model, text_inputs, source.path)
        self._expected = predict_rows(self.task, answer, data)
        self.keras_metrics = compute_metrics(self.task, self._expected, data)
        # Each length is a graph of its own, and a short text asks the shortest alone.
        full = [full_rows(self.task, TextInputs(source.loaded.vocabulary, length)) for length in lengths]
        self._full = [(rows, predict_rows(self.task, answer, rows)) for rows in full]
        self._from_texts: dict[str, MediaPipeFiles | FilesWithTokenizer] = {}
        if mediapipe:
            self._from_texts["mediapipe"] = MediaPipeFiles(source, self.task, lengths[-1], data)
        if tokenizer_inside:
            files = FilesWithTokenizer(source, self.task, self._signature, lengths[-1], data)
            self._from_texts["tokenizer_inside"] = files

    def write(self, folder, quantization: str) -> dict:
        """Writes model_<quantization>.tflite and .json into a folder, and what else is made of the file.

        Returns:
          The report, see `export_tflite`.

        Raises:
          ValueError: when an op is not built in, a float32 file differs from Keras by more than rounding, or
            too few answers are Keras's, to the rows, to full rows of a length, or to texts that a file reads
            itself.
        """
        path = folder / f"model_{quantization}.tflite"
        content = convert_to_litert(self._signature, self._lengths, quantization)
        ops = checked_ops(content, path.name)
        path.write_bytes(content)
        model = LiteRTModel(path, self._vocabulary, _THREADS)
        answered = predict_rows(self.task, model.answer_ids, self._data)
        comparison = compare(self.task, answered, self._expected, self._data)
        self._require_same_answers(path.name, quantization, comparison, self._data)
        usual = max(FLOAT32_TOLERANCE, _MOST_OF_FULL * comparison["relative_difference"])
        for rows, expected in self._full:
            answered_full = predict_rows(self.task, functools.partial(_answer_full, model, expected), rows)
            compared = compare(self.task, answered_full, expected, rows)
            if not compared["relative_difference"] <= usual:
                self._require_same_answers(path.name, quantization, compared, rows)
        report = {
            "file": path.name,
            "bytes": len(content),
            "crc32": f"{zlib.crc32(content):08x}",
            "lengths": list(self._lengths),
            "ops": ops,
            "latency_ms": median_latencies(path, self._vocabulary),
            "compared_on": self._data.name,
            **comparison,
            "metrics": compute_metrics(self.task, answered, self._data),
            "keras_metrics": self.keras_metrics,
        }
        for key, files in self._from_texts.items():
            beside = folder / f"{files.prefix}_{quantization}.tflite"
            about = files.write(beside, model, quantization)
            quality = reading_quality(self.task, model, files.reading, answered, self._expected)
            rounded = {"relative_difference": 0.0}  # what is read otherwise is no rounding
            self._require_same_answers(beside.name, quantization, quality | rounded, files.reading.data, key)
            written = {"file": beside.name, "bytes": beside.stat().st_size}
            report[key] = written | about | files.reading.report | quality
        write_json(report, path.with_suffix(".json"))
        return report

    def _require_same_answers(self, name, quantization, comparison, data, flag=None):
        difference, agreement = comparison["relative_difference"], comparison["agreement"]
        if quantization == "float32" and not difference <= FLOAT32_TOLERANCE:
            raise ValueError(
                f"the float32 file differs from Keras by {difference:.2g} ({data.name}); nothing was "
                "exported."
            )
        wrong = round((1 - agreement) * comparison["num_answers"])
        if wrong > most_different(comparison["num_answers"], self._min_agreement):
            advice = _WAYS.get(flag, "Leave its --quantization out")
            raise ValueError(
                f"{name} does not predict as Keras does for {wrong} of {comparison['num_answers']} "
                f"({data.name}): agreement {agreement:.6g}, --min_agreement="
                f"{self._min_agreement:g}; nothing was exported. {advice}, or lower the share if you can "
                "live with that."
            )


def _answer_full(model, expected, inputs) -> dict:
    """A file's answers to full rows of one of its lengths, in the shapes of those of Keras."""
    shapes = {name: values.shape for name, values in expected.by_ids.items()}
    answers = model.answer_ids(inputs)
    return {name: answers[name][tuple(map(slice, shape))] for name, shape in shapes.items()}


def most_different(num_answers: int, min_agreement: float) -> int:
    """How many answers may differ, rounded up: of 60 one may, though that is more than .01 of them."""
    return math.ceil(round((1 - min_agreement) * num_answers, 6))  # 1 - .99 is a little more than .01


def median_latencies(path, vocabulary) -> dict[str, dict[str, float]]:
    """Milliseconds of one call on a full row, median: length -> threads -> float, both as strings.

    A full row is the worst case. For a file of several lengths each is measured by itself.
    """
    models = {str(threads): LiteRTModel(path, vocabulary, threads) for threads in _MEASURED_THREADS}
    lengths = next(iter(models.values())).lengths
    return {
        str(length): {n: round(1000 * _median_seconds(model, length), 3) for n, model in models.items()}
        for length in lengths
    }


def _median_seconds(model, length) -> float:
    ones = np.ones(model.input_shape(length), np.int32)
    row = {name: ones * (name != "segment_ids") for name in ENCODER_INPUTS}
    call = timeit.Timer(functools.partial(model.run, row, length))
    fastest = min(call.repeat(_WARM_UP, number=1))
    number = min(_MOST, max(_LEAST, int(_SECONDS / max(fastest, 1e-9))))
    return statistics.median(call.repeat(number, number=1))
