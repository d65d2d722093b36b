"""What a served model can be asked: its signatures, as its metadata tell them."""

import dataclasses

import numpy as np

DEFAULT_SIGNATURE = "serving_default"
_EXAMPLES = "inputs"  # serialized tf.Examples, which this client does not make


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One input or output.

    Attributes:
        dtype: NumPy's; object for strings; None for one that this client cannot carry.
        shape: None for an axis of any size; None alone where not even the rank is known.
    """

    dtype: np.dtype | None
    shape: tuple[int | None, ...] | None


@dataclasses.dataclass(frozen=True)
class ModelSignature:
    """One signature: its name, inputs and outputs (name -> `Tensor`)."""

    name: str
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]

    @property
    def settings(self) -> list[str]:
        """The inputs without a batch: one value for all examples, such as `top_k`."""
        return sorted(name for name, tensor in self.inputs.items() if tensor.shape == ())

    @property
    def columns(self) -> list[str]:
        """The inputs that each example has."""
        return sorted(self.inputs.keys() - set(self.settings))

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(sorted(self.inputs))} -> {', '.join(sorted(self.outputs))})"


class ModelSignatures:
    """The signatures of one model.

    Args:
        model_name: its name on the server, for messages.
        signatures: all of them.
    """

    def __init__(self, model_name: str, signatures: list[ModelSignature]):
        self._model_name = model_name
        # TensorFlow's own (__saved_model_init_op) are nobody's to ask.
        self._signatures = {one.name: one for one in signatures if not one.name.startswith("__")}

    def __getitem__(self, name: str) -> ModelSignature:
        if name not in self._signatures:
            raise ValueError(f"model {self._model_name!r} has no signature {name!r}; {self._listed()}")
        return self._signatures[name]

    def __iter__(self):
        return iter(self._signatures)

    def find(self, columns, settings=(), outputs=()) -> ModelSignature:
        """Returns the signature that takes what an example has.

        Args:
            columns: names of the example's parts.
            settings: names of the values for all examples.
            outputs: names that must be among the outputs.

        Raises:
            ValueError: no signature fits; the message lists them all.
        """
        fitting = [
            one
            for one in self._signatures.values()
            if set(one.columns) == set(columns)
            and set(one.settings) == set(settings)
            and set(outputs) <= one.outputs.keys()
            and set(one.inputs) != {_EXAMPLES}
        ]
        if not fitting:
            wanted = ", ".join([*columns, *settings])
            answer = f" and answers {', '.join(outputs)}" if outputs else ""
            raise ValueError(
                f"model {self._model_name!r} has no signature that takes {wanted}{answer}; {self._listed()}"
            )
        return min(fitting, key=lambda one: (one.name != DEFAULT_SIGNATURE, one.name))

    def _listed(self) -> str:
        return f"it has: {'; '.join(map(str, self._signatures.values()))}."
