"""An encoder without a head: it has no loss, and its answers are vectors of texts."""

from kbert.config.pooling_config import PoolingConfig
from kbert.features import encoder_features
from kbert.heads.parts import POOLER
from kbert.layers.sequence_pooling import SequencePooling
from kbert.tasks.signatures.signature import row_signatures
from kbert.tasks.similarity.vectors import VectorServing
from kbert.tasks.task import CheckpointKind, Task


class Encoding(Task):
    """The encoder alone, for checkpoints without heads: to extract features, or to start a training from.

    It answers texts with their vectors, if the checkpoint says how these are made.

    Args:
      pooling, normalize: how the checkpoint makes one vector of a text, see `PoolingConfig`; None where it
        does not say so.
    """

    name = "encoder"
    checkpoint = CheckpointKind("BertModel")
    parts = (POOLER,)

    def __init__(self, pooling: str | None = None, normalize: bool = True):
        super().__init__()
        self.pooling = None if pooling is None else PoolingConfig(pooling, normalize)

    @property
    def serving(self):
        return None if self.pooling is None else _Serving(self)

    def get_config(self):
        pooling = self.pooling
        return {} if pooling is None else {"pooling": pooling.mode, "normalize": pooling.normalize}

    def with_pooling(self, pooling):
        return self if pooling is None else Encoding(pooling.mode, pooling.normalize)

    def features(self, max_seq_length):
        return encoder_features(max_seq_length)

    def build_model(self, encoder):
        """The encoder itself: encoder inputs -> its own outputs."""
        return encoder


class _Serving(VectorServing):
    inputs = row_texts = ("text",)
    other_inputs = {"cosine": ("text", "text_pair")}
    answers = ("embedding",)
    vectors = "embedding"

    def signatures(self, model, text_inputs):
        """`serving_default`: `text` (string [batch]) -> `embedding` (float32 [batch, hidden_size]). `cosine`:
        `text`, `text_pair` -> `cosine` (float32 [batch]). `ids`: encoder inputs (int32 [batch, length]) ->
        `embedding`."""
        pooling = self.task.pooling
        pool = SequencePooling(pooling.mode, pooling.normalize)

        def embed_ids(inputs):
            return {"embedding": pool(model(inputs)["sequence_output"], inputs["input_mask"])}

        signatures = row_signatures(self.inputs, embed_ids, model, text_inputs)
        return signatures | {"cosine": self.pair_signature(signatures["serving_default"])}
