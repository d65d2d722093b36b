"""How a weight for each piece of the vocabulary is made of a text (SPLADE)."""

from dataclasses import dataclass, field

from kbert.config.checks import require
from kbert.config.pooling_config import SIMILARITY_FUNCTIONS
from kbert.config.vectors_config import VectorsConfig
from kbert.files.json_values import shown

SPARSE_POOLINGS = ("max", "sum")
SPARSE_ACTIVATIONS = ("relu", "log1p_relu")


@dataclass(frozen=True)
class SparsePoolingConfig(VectorsConfig):
    """How one sparse vector, as wide as the vocabulary, is made of a text.

    The logits of the masked-LM head at every real token, [CLS] and [SEP] too, become `log(1 + relu(logits))`;
    with the `activation` "log1p_relu" the logarithm is taken of that once more. `pooling` is "max" or "sum"
    over the tokens. `max_active_dims` keeps so many of the largest weights; None keeps all.
    `similarity_fn_name` is how the vectors are meant to be compared.

    Raises:
      ValueError: for other words, a `max_active_dims` below 1, and as `VectorsConfig` does.

    Reference: arXiv 2107.05720 (sum), 2109.10086 (max), 2504.14839 (log1p_relu); sentence-transformers,
    sparse_encoder/modules/splade_pooling.py.
    """

    pooling: str = SPARSE_POOLINGS[0]
    activation: str = SPARSE_ACTIVATIONS[0]
    max_active_dims: int | None = None
    similarity_fn_name: str = field(default="dot", kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        known = {
            "pooling": SPARSE_POOLINGS,
            "activation": SPARSE_ACTIVATIONS,
            "similarity_fn_name": SIMILARITY_FUNCTIONS,
        }
        for name, choices in known.items():
            value = getattr(self, name)
            require(
                value in choices, f"{name}={shown(value)} is not known; choose one of {', '.join(choices)}."
            )
        most = self.max_active_dims
        require(
            most is None or (type(most) is int and most > 0),
            f"max_active_dims={shown(most)} should be a whole number of at least 1.",
        )
