"""Which part of an encoder is not trained."""

import re
from dataclasses import dataclass

from kbert.checks import Layers, check_values

_LAYER = re.compile(r"layer_(\d+)/")


@dataclass(frozen=True)
class FrozenConfig:
    """Which part of the encoder keeps its numbers: no gradient, no update, no decay, no moments.

    `embeddings` are the three tables, their norm, with an `embedding_size` the projection behind it, and the
    table of relative positions (MPNet), which transformers has in the encoder. `layers` is a number: so many
    of the lowest transformer layers. Dropout goes on in frozen layers. With the embeddings and N layers
    frozen, the backward pass ends at layer N. Layers frozen above embeddings that are trained save less:
    gradients pass through them.

    Examples:
      >>> from kbert.config import FrozenConfig
      >>> frozen = FrozenConfig(embeddings=True, layers=2)
      >>> [frozen.holds(name) for name in ("embeddings/word_embeddings", "layer_1/attention/query/kernel",
      ...                                  "layer_2/attention/query/kernel", "pooler/dense/kernel")]
      [True, True, False, False]
    """

    embeddings: bool = False
    layers: Layers = 0

    def __post_init__(self):
        check_values(self, "frozen.")

    def holds(self, name: str) -> bool:
        """Whether a variable of this name is frozen."""
        layer = _LAYER.match(name)
        return int(layer[1]) < self.layers if layer else self.embeddings and name.startswith("embeddings/")
