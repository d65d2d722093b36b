"""An encoder without a head: it has no loss, and its outputs are the only answers."""

from kbert.config.pooling_config import PoolingConfig
from kbert.heads.parts import POOLER
from kbert.tasks.task import Task


class Encoding(Task):
    """The encoder alone, for checkpoints without heads: to extract features, or to start a training from.

    Args:
      pooling, normalize: how the checkpoint makes one vector of a text, see `PoolingConfig`; None where it
        does not say so.
    """

    name = "encoder"
    architecture = "BertModel"
    parts = (POOLER,)

    def __init__(self, pooling: str | None = None, normalize: bool = True):
        self.pooling = None if pooling is None else PoolingConfig(pooling, normalize)

    def get_config(self):
        pooling = self.pooling
        return {} if pooling is None else {"pooling": pooling.mode, "normalize": pooling.normalize}

    def with_pooling(self, pooling):
        return self if pooling is None else Encoding(pooling.mode, pooling.normalize)

    def build_model(self, encoder):
        """The encoder itself: encoder inputs -> its own outputs."""
        return encoder
