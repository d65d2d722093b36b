"""An encoder without a head: it has no loss, and its outputs are the only answers."""

from kbert.heads.parts import POOLER
from kbert.tasks.task import Task


class Encoding(Task):
    """The encoder alone, for checkpoints without heads: to extract features, or to start a training from."""

    name = "encoder"
    architecture = "BertModel"
    parts = (POOLER,)

    def build_model(self, encoder):
        """The encoder itself: encoder inputs -> its own outputs."""
        return encoder
