"""A text -> a weight for each piece of the vocabulary (SPLADE)."""

from dataclasses import dataclass

from kbert.config.checks import check_values
from kbert.config.sparse_pooling_config import SparseActivation, SparsePooling, SparsePoolingConfig
from kbert.heads.parts import MASKED_LM
from kbert.heads.sparse_head import SparseHead
from kbert.tasks.similarity.embedding_task import EmbeddingTask
from kbert.tasks.sparse_embedding.sparse_vectors import SparseVectors
from kbert.tasks.task import CheckpointKind


@dataclass(frozen=True)
class SparseSettings:
    """How one sparse vector is made of a text.

    `pooling` is "max" or "sum" over the tokens, `activation` is "relu" or "log1p_relu", see
    `SparsePoolingConfig`. What is left out is taken from the checkpoint, where that says it; otherwise it is
    the first of the two.
    """

    pooling: SparsePooling | None = None
    activation: SparseActivation | None = None

    def __post_init__(self):
        check_values(self)


class SparseEmbedding(EmbeddingTask):
    """Sparse vectors of texts by the masked-LM head, compared by their dot product.

    The output `embeddings` is float32 (batch, texts, vocab_size), of weights that are mostly 0 once trained.

    Args:
      further_pooling: what the checkpoint that the task starts from says of its vectors.
      settings: those of `SparseSettings`, by name.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig
      >>> from kbert.tasks.sparse_embedding.sparse_embedding import SparseEmbedding
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = SparseEmbedding().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((3, 2, 7), "int32")
      >>> tuple(model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})["embeddings"].shape)
      (3, 2, 50)

    Reference: arXiv 2107.05720, 2109.10086.
    """

    name = "sparse_embedding"
    settings_class = SparseSettings
    vectors_class = SparsePoolingConfig
    own_settings = {"pooling": "pooling", "activation": "activation"}
    checkpoint = CheckpointKind("BertForMaskedLM")
    parts = (MASKED_LM,)
    serving_class = None
    text_vectors_class = SparseVectors

    def vectors(self, encoder, sequence_output, input_mask):
        settings = {"pooling": self.pooling.pooling, "activation": self.pooling.activation}
        head = SparseHead(
            encoder.config, encoder.embeddings, **settings, dtype=encoder.policy, name=MASKED_LM.name
        )
        return head(sequence_output, input_mask)
