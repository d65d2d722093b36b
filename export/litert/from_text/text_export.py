"""Writes the files with the tokenizer inside, each with what that tokenizer does to its answers."""

import functools

import numpy as np

from kbert.features import ENCODER_INPUTS

from ..comparison_data import ComparisonData
from ..file_ops import checked_ops
from .measured import Measured
from .other_reading import quality_of_reading, read_otherwise, rows_of_texts, warn_of_other_reading
from .reasons import reasons_inside
from .text_conversion import convert_with_tokenizer
from .text_litert_model import TextLiteRTModel
from .tokenizer_inside import CUSTOM_OPS, TokenizerInside

_CHECKED = 12  # texts that each file is asked
# Of one model in two graphs: what XNNPACK takes of each is not the same, and int8 rounds activations.
_TOLERANCE = {"float32": 1e-4, "float16": 1e-3, "dynamic_int8": 0.05}


class TextExport:
    """The files of one export: the texts read once.

    Args:
      run: the `RunDirectory`, see `requests.check_tokenizer_inside`.
      task: its task, as it answers.
      signature: "ids" of the task.
      length: of the rows.
      data: the rows of the comparison.

    Raises:
      ValueError: when the rows are made of other texts than the task says.
    """

    def __init__(self, run, task, signature, length: int, data: ComparisonData):
        self._task, self._signature, self._length = task, signature, length
        vocabulary = run.vocabulary()
        self._tokenizer = TokenizerInside(vocabulary, length)
        self._rows = rows_of_texts(task, data)
        why = functools.partial(reasons_inside, do_lower_case=vocabulary.do_lower_case)
        self._reading = read_otherwise(self._read, self._rows, data, vocabulary.tokens, why)
        warn_of_other_reading("the tokenizer inside", self._reading)

    def _read(self, rows):
        import tensorflow as tf

        columns = [tf.constant(column) for column in zip(*rows, strict=True)]
        return {name: value.numpy() for name, value in self._tokenizer(*columns).items()}

    def write(self, measured: Measured) -> dict:
        """Writes text_<quantization>.tflite beside the file.

        Returns:
          A dict ready for JSON: file, bytes, inputs, ops, custom_ops, the report of the `OtherReading`,
          and `quality_of_reading`.

        Raises:
          ValueError: for other custom ops than CUSTOM_OPS.
          RuntimeError: when the file does not answer as the one beside it.
        """
        path, inputs = measured.beside("text"), self._task.row_texts
        content = convert_with_tokenizer(
            self._signature, inputs, self._tokenizer, measured.quantization, self._length
        )
        ops = checked_ops(content, path.name, CUSTOM_OPS)
        path.write_bytes(content)
        self._check(path, measured.model, _TOLERANCE[measured.quantization])
        return {
            "file": path.name,
            "bytes": len(content),
            "inputs": list(inputs),
            "ops": ops,
            "custom_ops": list(CUSTOM_OPS),
            **self._reading.report,
            **quality_of_reading(self._task, measured, self._reading),
        }

    def _check(self, path, model, tolerance):
        """Raises RuntimeError unless the file answers as the model does to the same reading."""
        rows = self._rows[:_CHECKED]
        found = TextLiteRTModel(path)(*map(list, zip(*rows, strict=True)))
        read = self._read(rows)
        for name, values in model.answer_ids({name: read[name] for name in ENCODER_INPUTS}).items():
            scale = max(1.0, float(np.abs(values).max()))
            apart = float(np.abs(found[name] - values).max())
            if not apart <= tolerance * scale:
                raise RuntimeError(f"{path.name} differs from {model.path.name} by {apart:.2g} in {name}.")
