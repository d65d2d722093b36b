"""A dense layer between the pooled vector and the vector of a text, or behind each token's."""

from dataclasses import dataclass

from kbert.config.checks import require
from kbert.files.json_values import shown

# Those of torch.nn that have no numbers of their own to learn and keep the width, with their defaults.
DENSE_ACTIVATIONS = (
    "Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid", "Mish", "ELU", "SELU", "CELU", "LeakyReLU",
    "ReLU6", "RReLU", "Softplus", "Softsign", "LogSigmoid", "Hardtanh", "Hardsigmoid", "Hardswish",
    "Tanhshrink", "Softshrink", "Hardshrink", "Softmax", "Softmin", "LogSoftmax",
)  # fmt: skip


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

    units: int
    activation: str = "Tanh"
    use_bias: bool = True
    use_residual: bool = False
    normalize: bool = False

    def __post_init__(self):
        require(
            type(self.units) is int and self.units > 0,
            f"units={shown(self.units)} of a dense layer should be a whole number of at least 1.",
        )
        require(
            self.activation in DENSE_ACTIVATIONS,
            f"activation={shown(self.activation)} of a dense layer is not known; choose one of "
            f"{', '.join(DENSE_ACTIVATIONS)}.",
        )

    def needs_matrix(self, width: int) -> bool:
        """Whether the residual of an input of this width has a matrix of its own."""
        return self.use_residual and width != self.units


def dense_configs(values) -> tuple[DenseConfig, ...]:
    """Layers as JSON or the caller says them -> `DenseConfig`s."""
    return tuple(DenseConfig(**value) if isinstance(value, dict) else value for value in values)


def chain_width(dense: tuple[DenseConfig, ...], width: int) -> int:
    """The width of what a chain of layers makes of a vector of this width."""
    return dense[-1].units if dense else width
