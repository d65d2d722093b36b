"""Answers in words from any run or checkpoint whose task answers texts."""

import numpy as np
import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loaded_model import LoadedModel


class Predictor:
    """Asks a model through its `serving_default` signature, the one that an export serves as well.

    Args:
      loaded: a `LoadedModel`.

    Attributes:
      loaded: as given.
      inputs: names of what it takes for each example, for example ("text", "text_pair").
      settings: names of what it takes once, for example ("top_k",).

    Call arguments:
      The inputs by name, each a list with one entry an example, and the settings.

    Returns:
      A list of answers, as `Task.answer` gives them.

    Raises:
      ValueError: when the task answers no texts, an input is missing or not expected, or the answer is no
        finite number.

    Example:
      >>> import kbert
      >>> predict = kbert.Predictor(kbert.load(run_dir))
      >>> (answer,) = predict(text=["jump the a"])
      >>> sorted(answer)
      ['label', 'probabilities']
    """

    def __init__(self, loaded: LoadedModel):
        self.loaded = loaded
        self._signature = loaded.task.signatures(loaded.model, loaded.text_inputs)["serving_default"]
        shapes = {name: shape for name, (_, shape) in self._signature.inputs.items()}
        self.inputs = tuple(name for name, shape in shapes.items() if shape)
        self.settings = tuple(name for name, shape in shapes.items() if not shape)
        self._run = tf.function(self._signature.function, reduce_retracing=True)

    def __call__(self, **inputs) -> list[dict]:
        task, columns = self.loaded.task, [inputs[name] for name in self.inputs if name in inputs]
        examples = [dict(zip(self.inputs, row, strict=True)) for row in zip(*columns, strict=True)]
        for example in examples:
            task.check_inputs(example)
        if not examples:
            return []
        outputs = self.outputs(**inputs)
        require_finite_answers(_numbers(outputs), self.loaded.source)
        return [
            task.answer({name: value[row] for name, value in outputs.items()}, example)
            for row, example in enumerate(examples)
        ]

    def outputs(self, **inputs) -> dict[str, np.ndarray]:
        """The signature's outputs as they are, finite or not: name -> array with a row for each example."""
        expected = {*self.inputs, *self.settings}
        inputs = {name: value for name, value in inputs.items() if value is not None}
        if set(inputs) != expected:
            raise ValueError(
                f"{self.loaded.source} answers {', '.join(sorted(expected))}, but received "
                f"{', '.join(sorted(inputs)) or 'nothing'}."
            )
        tensors = {
            name: tf.constant(inputs[name], dtype=dtype)
            for name, (dtype, _) in self._signature.inputs.items()
        }
        return {name: value.numpy() for name, value in self._run(**tensors).items()}


def _numbers(outputs):
    """The floating-point outputs of each example, side by side."""
    floats = [value for value in outputs.values() if value.dtype.kind == "f"]
    return [np.concatenate([np.ravel(value[row]) for value in floats]) for row in range(len(floats[0]))]
