"""Answers from a signature of a model, which is also what an export serves."""

import operator
from collections.abc import Sequence

import numpy as np

from kbert.cli.warn_once import warn_once
from kbert.forked import require_own_tensorflow
from kbert.inference.answers import require_text, require_texts, require_top_k
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loading import open_model
from kbert.input_pipelines.data_in_memory import plain_values, shown
from kbert.late_tensorflow import tf
from kbert.tasks.signatures.signature import TRUNCATED

_LARGEST_INT32 = (1 << 31) - 1


class Predictor:
    """Calls a signature of a model, which is also what an export serves.

    Args:
      loaded: a `LoadedModel`, a `RunDirectory`, or a path or name as for `kbert.load`.
      signature: its name; see the signatures of the task. Those that take texts have answers, all of them
        have `outputs`.

    Attributes:
      loaded: the `LoadedModel`.
      inputs: the names of the inputs that each example has, for example ("text", "text_pair").
      settings: the names of the inputs that are given once for all examples, for example ("top_k",).

    Call arguments:
      The inputs by name, each a list with one entry per example, and the settings by name.

    Returns:
      A list of answers, as `Serving.answer` returns them.

    Raises:
      ValueError: when the task does not answer texts, an input is missing, unexpected or of another type or
        shape, or the answer is not finite.

    Examples:
      >>> import kbert
      >>> predict = kbert.Predictor(kbert.load(run_dir))
      >>> (answer,) = predict(text=["jump the a"])
      >>> sorted(answer)
      ['label', 'probabilities']
    """

    def __init__(self, loaded, signature: str = "serving_default"):
        self.loaded = open_model(loaded)
        signatures = self.loaded.signatures
        if signature not in signatures:
            raise ValueError(
                f"signature={signature!r}: {self.loaded.source} has {', '.join(signatures)}; choose one of "
                "these."
            )
        self._name, self._signature = signature, signatures[signature]
        shapes = {name: shape for name, (_, shape) in self._signature.inputs.items()}
        self.inputs = tuple(name for name, shape in shapes.items() if shape)
        self.settings = tuple(name for name, shape in shapes.items() if not shape)

    def __call__(self, **inputs) -> list[dict]:
        return self.answers(inputs)

    def answers(
        self,
        inputs: dict,
        positions: Sequence[int] | None = None,
        name="texts[{}]",
        raw_scores: bool = False,
    ) -> list[dict]:
        """The same for inputs in a dict; `positions` and `name` are those of `require_finite_answers`. With
        `raw_scores` they are those of `Serving.raw_answer`."""
        serving = self.loaded.task.serving
        if self.inputs not in serving.by_signature.values():
            raise ValueError(
                f"the signature {self._name!r} of {self.loaded.source} has outputs and no answers; ask "
                f"Predictor(...).outputs, or one of {', '.join(serving.by_signature)}."
            )
        self._require_names(inputs)
        inputs = inputs | {name: _column(name, inputs[name]) for name in self.inputs}
        columns = [inputs[name] for name in self.inputs]
        if len({len(column) for column in columns}) > 1:
            sizes = ", ".join(f"{len(inputs[name])} {name}" for name in self.inputs)
            raise ValueError(f"received {sizes}; give as many of each, one for each example.")
        examples = [dict(zip(self.inputs, row, strict=True)) for row in zip(*columns, strict=True)]
        for example, position in zip(examples, positions or range(len(examples)), strict=True):
            require_texts(serving, example, name.format(position))
        if not examples:
            return []
        self.loaded.say_written_tokens(examples, reads_masks=self._name in serving.reads_masks)
        outputs = self._outputs(inputs)
        floats = [value for value in outputs.values() if value.dtype.kind == "f"]
        numbers = [np.concatenate([np.ravel(value[row]) for value in floats]) for row in range(len(examples))]
        require_finite_answers(numbers, self.loaded.source, positions, name)
        self.loaded.warn_of_cut_text(outputs.get(TRUNCATED, False), positions, name)
        if sentence := serving.incomplete(outputs):
            warn_once(sentence)
        return self.loaded.answer_rows(outputs, examples, positions, name, raw_scores)

    def outputs(self, **inputs) -> dict[str, np.ndarray]:
        """The outputs of the signature, finite or not: name -> array with one row for each example."""
        self._require_names(inputs)
        for name in (name for name in self.inputs if self._signature.inputs[name][0] == "string"):
            inputs[name] = _column(name, inputs[name])
            for position, value in enumerate(inputs[name]):
                require_text(name, value, f"texts[{position}]: ")
        return self._outputs(inputs)

    def _outputs(self, inputs):
        require_own_tensorflow()
        declared = self._signature.inputs
        tensors = [_tensor(name, inputs[name], *declared[name]) for name in declared]
        return {name: value.numpy() for name, value in self._run(*tensors).items()}

    @property
    def _run(self):
        """The graph of the weights that the model has now."""
        return self.loaded.graph(self._name, lambda: self.loaded.signatures[self._name].as_graph())

    def _require_names(self, inputs):
        expected = {*self.inputs, *self.settings}
        received = {name for name, value in inputs.items() if value is not None}
        if received != expected:
            raise ValueError(
                f"{self.loaded.source} expects {', '.join(sorted(expected))}, but received "
                f"{', '.join(sorted(received)) or 'nothing'}."
            )


def _tensor(name, value, dtype, shape):
    """The value of an input of a signature, or ValueError."""
    if name == "top_k":
        require_top_k(value)
        value = min(operator.index(value), _LARGEST_INT32)  # sys.maxsize is a way to say all
    try:
        tensor = tf.constant(value, dtype=dtype)
        tensor.shape.assert_is_compatible_with(shape)
        if dtype != "string" and not np.array_equal(tensor, value):  # TensorFlow lets numbers come round
            raise ValueError
    except (TypeError, ValueError) as error:
        form = f" of the shape {shape}, with rows of one length" if shape else ""
        raise ValueError(f"{name} is {shown(value)}; expected {dtype}{form}.") from error
    return tensor


def _column(name, values):
    """The values of an input; a text alone would be taken apart into its characters."""
    if (listed := plain_values(values)) is not None:
        return listed
    raise ValueError(
        f"{name} is {shown(values)}; expected a list with one entry for each example. "
        "kbert.load(...).predict(...) takes a single text too."
    )
