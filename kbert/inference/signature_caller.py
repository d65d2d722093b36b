"""Calls a signature of a model: what predictions in Python and answers of a `Predictor` are made with."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers


class SignatureCaller:
    """What a `Predictor` is, for a `LoadedModel` alone: this one does not read models."""

    def __init__(self, loaded, signature: str = "serving_default"):
        self.loaded = loaded
        if signature not in loaded.signatures:
            raise ValueError(
                f"signature={signature!r}: {loaded.source} has {', '.join(loaded.signatures)}; choose one of "
                "these."
            )
        self._signature = loaded.signatures[signature]
        shapes = {name: shape for name, (_, shape) in self._signature.inputs.items()}
        self.inputs = tuple(name for name, shape in shapes.items() if shape)
        self.settings = tuple(name for name, shape in shapes.items() if not shape)
        self._run = loaded.graph(signature, self._signature.as_graph)

    def __call__(self, **inputs) -> list[dict]:
        return self.answers(inputs)

    def answers(self, inputs: dict, places: Sequence[int] | None = None, name="texts[{}]") -> list[dict]:
        """The same for inputs in a dict; `places` and `name` are those of `require_finite_answers`."""
        self._require_names(inputs)
        columns = [_column(name, inputs[name]) for name in self.inputs]
        if len({len(column) for column in columns}) > 1:
            sizes = ", ".join(f"{len(inputs[name])} {name}" for name in self.inputs)
            raise ValueError(f"received {sizes}; give as many of each, one for each example.")
        serving = self.loaded.task.serving
        examples = [dict(zip(self.inputs, row, strict=True)) for row in zip(*columns, strict=True)]
        for example in examples:
            serving.check_inputs(example)
        if not examples:
            return []
        outputs = self.outputs(**inputs)
        require_finite_answers(_numbers(outputs), self.loaded.source, places, name)
        return [
            serving.answer({name: value[row] for name, value in outputs.items()}, example)
            for row, example in enumerate(examples)
        ]

    def outputs(self, **inputs) -> dict[str, np.ndarray]:
        """The outputs of the signature, finite or not: name -> array with one row for each example."""
        self._require_names(inputs)
        tensors = [
            tf.constant(inputs[name], dtype=dtype) for name, (dtype, _) in self._signature.inputs.items()
        ]
        return {name: value.numpy() for name, value in self._run(*tensors).items()}

    def _require_names(self, inputs):
        expected = {*self.inputs, *self.settings}
        received = {name for name, value in inputs.items() if value is not None}
        if received != expected:
            raise ValueError(
                f"{self.loaded.source} expects {', '.join(sorted(expected))}, but received "
                f"{', '.join(sorted(received)) or 'nothing'}."
            )


def _column(name, values):
    """The values of an input; a text alone would be taken apart into its characters."""
    if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes):
        return values
    raise ValueError(
        f"{name} is {values!r:.60}; expected a list with one entry for each example. "
        "kbert.load(...).predict(...) takes a single text too."
    )


def _numbers(outputs):
    """For each example one array with all its floating-point outputs."""
    floats = [value for value in outputs.values() if value.dtype.kind == "f"]
    return [np.concatenate([np.ravel(value[row]) for value in floats]) for row in range(len(floats[0]))]
