"""A bare encoder: no head, no loss, no answer but the vectors themselves."""

from kbert.heads.parts import POOLER
from kbert.tasks.task import Task


class Encoding(Task):
    """The encoder alone, as a checkpoint without heads holds it: to take features from, and to start from."""

    name = "encoder"
    architecture = "BertModel"
    parts = (POOLER,)

    def build_model(self, encoder):
        """The encoder itself: encoder inputs -> its own outputs."""
        return encoder
