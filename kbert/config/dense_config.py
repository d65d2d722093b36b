"""A dense layer between the pooled vector and the vector of a text, or behind each token's."""

from dataclasses import dataclass
from typing import Literal, get_args

from kbert.checks import Width, check_values

# Those of torch.nn that have no numbers of their own to learn and keep the width, with their defaults.
DenseActivation = Literal[
    "Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid", "Mish", "ELU", "SELU", "CELU", "LeakyReLU",
    "ReLU6", "RReLU", "Softplus", "Softsign", "LogSigmoid", "Hardtanh", "Hardsigmoid", "Hardswish",
    "Tanhshrink", "Softshrink", "Hardshrink", "Softmax", "Softmin", "LogSoftmax",
]  # fmt: skip
DENSE_ACTIVATIONS = get_args(DenseActivation)


@dataclass(frozen=True)
class DenseConfig:
    """A dense layer on a vector.

    `units` is the width of what it gives, `activation` a name of `DENSE_ACTIVATIONS`, those of torch. With
    `normalize` the layer's input is brought to length 1 first; with `use_residual` the input is added to the
    output, through a matrix where the two have other widths.

    Raises:
      ValueError: for a width below 1 and an unknown activation.

    Reference: sentence-transformers, base/modules/dense.py.
    """

    units: Width
    activation: DenseActivation = "Tanh"
    use_bias: bool = True
    use_residual: bool = False
    normalize: bool = False

    def __post_init__(self):
        check_values(self, "dense.")

    def needs_matrix(self, width: int) -> bool:
        """Whether the residual of an input of this width has a matrix of its own."""
        return self.use_residual and width != self.units


def dense_configs(values) -> tuple[DenseConfig, ...]:
    """Layers as JSON or the caller says them -> `DenseConfig`s."""
    return tuple(DenseConfig(**value) if isinstance(value, dict) else value for value in values)


def chain_width(dense: tuple[DenseConfig, ...], width: int) -> int:
    """The width of what a chain of layers makes of a vector of this width."""
    return dense[-1].units if dense else width
