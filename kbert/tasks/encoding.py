"""An encoder without a head: it has no loss, and its answers are vectors of texts."""

from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig
from kbert.features import ENCODER_INPUTS, encoder_features
from kbert.heads.parts import POOLER, Part, vector_parts
from kbert.layers import sequence_pooling
from kbert.tasks import task_model
from kbert.tasks.signatures.signature import traced_once
from kbert.tasks.similarity.prompts import pooled, vector_signatures
from kbert.tasks.similarity.vectors import VectorServing
from kbert.tasks.task import CheckpointKind, Task


class Encoding(Task):
    """The encoder alone, for checkpoints without heads: to extract features, or to start a training from.

    It answers texts with their vectors, if the checkpoint says how these are made.

    Args:
      pooling, normalize: how the checkpoint makes one vector of a text, see `PoolingConfig`; None where it
        does not say so.
      further_pooling: what `PoolingConfig.further` says.
    """

    name = "encoder"
    checkpoint = CheckpointKind("BertModel")
    vectors_class = PoolingConfig
    parts: tuple[Part, ...] = (POOLER,)

    def __init__(
        self, pooling: str | None = None, normalize: bool = True, further_pooling: dict | None = None
    ):
        super().__init__()
        self.pooling = None if pooling is None else PoolingConfig(pooling, normalize, **further_pooling or {})
        self.parts = vector_parts(self.pooling) or self.parts

    @property
    def serving(self):
        return None if self.pooling is None else _Serving(self)

    def get_config(self):
        pooling = self.pooling
        if pooling is None:
            return {}
        further = {"further_pooling": pooling.further} if pooling.further else {}
        return {"pooling": pooling.mode, "normalize": pooling.normalize} | further

    def with_pooling(self, pooling):
        return (
            self
            if not isinstance(pooling, PoolingConfig)
            else Encoding(pooling.mode, pooling.normalize, pooling.further)
        )

    def features(self, max_seq_length):
        return encoder_features(max_seq_length)

    def build_model(self, encoder):
        """The encoder itself: encoder inputs -> its own outputs. With dense layers on its vectors they are
        part of the model, whose output is then `embedding`, float32 (batch, width)."""
        if not vector_parts(self.pooling):
            return encoder
        encoder = encoder.with_outputs("sequence_output")
        inputs = task_model.token_inputs(ENCODER_INPUTS)
        pool = sequence_pooling.SequencePooling.of(self.pooling, name=POOLING_LAYER)
        vectors = pool(encoder(inputs)["sequence_output"], inputs["input_mask"])
        return task_model.TaskModel(self, encoder, inputs, {"embedding": vectors})


class _Serving(VectorServing):
    inputs = row_texts = ("text",)
    other_inputs = {"cosine": ("text", "text_pair")}
    answers = ("embedding",)
    vectors = "embedding"

    def signatures(self, model, text_inputs):
        """`serving_default`: `text` (string [batch]) -> `embedding` (float32 [batch, width]). `cosine`:
        `text`, `text_pair` -> `cosine` (float32 [batch]). `ids`: encoder inputs (int32 [batch, length]) ->
        `embedding`. Of some prompts more, see `vector_signatures`."""
        pooling = self.task.pooling
        signatures = vector_signatures(pooling, pooled(pooling, model), model, text_inputs)
        embed = traced_once(signatures["serving_default"])
        return signatures | {"serving_default": embed, "cosine": self.pair_signature(embed)}
