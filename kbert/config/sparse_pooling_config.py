"""How a weight for each piece of the vocabulary is made of a text (SPLADE)."""

from dataclasses import dataclass, field
from typing import Literal

from kbert.checks import Many
from kbert.config.pooling_config import SimilarityFunction
from kbert.config.vectors_config import VectorsConfig

SparsePooling = Literal["max", "sum"]
SparseActivation = Literal["relu", "log1p_relu"]


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

    pooling: SparsePooling = "max"
    activation: SparseActivation = "relu"
    max_active_dims: Many | None = None
    similarity_fn_name: SimilarityFunction = field(default="dot", kw_only=True)
