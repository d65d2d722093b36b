"""A text -> a weight for each piece of the vocabulary (SPLADE)."""

from dataclasses import dataclass
from typing import Annotated

from kbert.bounds import Bounds
from kbert.checks import CheckedSettings
from kbert.config.sparse_pooling_config import SparseActivation, SparsePooling, SparsePoolingConfig
from kbert.heads import sparse_head
from kbert.heads.parts import MASKED_LM
from kbert.late_tensorflow import ops
from kbert.tasks.file_columns import task_files
from kbert.tasks.similarity.in_batch_loss import own_rows, row_weights
from kbert.tasks.similarity.in_batch_task import InBatchTask
from kbert.tasks.sparse_embedding.flops import flops_sum, ramp
from kbert.tasks.sparse_embedding.sparse_serving import SparseServing
from kbert.tasks.sparse_embedding.sparse_similarities import SparseSimilarities, sparse_rows, strongest
from kbert.tasks.sparse_embedding.sparse_vectors import SparseVectors
from kbert.tasks.task import CheckpointKind

# The losses that keep vectors sparse, with the texts of a row that each is about.
_FLOPS = {"query_flops": slice(0, 1), "document_flops": slice(1, None)}
_WORDS = {"query_words": slice(0, 1), "document_words": slice(1, None)}
Weight = Annotated[float, Bounds(0, 1e6)]


@dataclass(frozen=True)
class SparseSettings(CheckedSettings):
    """How one sparse vector is made of a text, and how sparse it becomes.

    `pooling` is "max" or "sum" over the tokens, `activation` is "relu" or "log1p_relu", see
    `SparsePoolingConfig`. What is left out is taken from the checkpoint, where that says it; otherwise it is
    the first of the two. `lambda_q` and `lambda_d` weigh what keeps the vectors of queries and of documents
    sparse, see `flops_sum`; both rise from 0 over the first third of the training. More makes vectors with
    fewer words.
    """

    pooling: SparsePooling | None = None
    activation: SparseActivation | None = None
    lambda_q: Weight = 5e-5
    lambda_d: Weight = 3e-5


class SparseEmbedding(InBatchTask):
    """Sparse vectors of texts by the masked-LM head, compared by their dot product.

    The output `embeddings` is float32 (batch, texts, vocab_size), of weights that are mostly 0 once trained.
    `query_words` and `document_words` are the mean numbers of words whose weight is not 0.

    Args:
      num_negatives, is_taught: as in `InBatchTask`.
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
    batch_losses = " and ".join(_FLOPS)  # the squares of means over a batch
    no_scores = (*_FLOPS, *_WORDS)
    unscored_metrics = (*InBatchTask.unscored_metrics, *_FLOPS, *_WORDS)
    serving_class = SparseServing
    text_vectors_class = SparseVectors
    loss_settings = not_in_answers = ("lambda_q", "lambda_d")
    files = task_files(name)

    def vectors(self, encoder, sequence_output, input_mask):
        settings = {"pooling": self.pooling.pooling, "activation": self.pooling.activation}
        head = sparse_head.SparseHead(
            encoder.config, encoder.embeddings, **settings, dtype=encoder.policy, name=MASKED_LM.name
        )
        return head(sequence_output, input_mask)

    # ------------------------------------------------------------------------------- losses and scores

    def compare(self, queries, candidates):
        return ops.matmul(queries, ops.swapaxes(candidates, -1, -2))

    def loss_weights(self, batch, training=False):
        ranked = super().loss_weights(batch, training)
        rows = ops.sum(row_weights(batch))
        return ranked | {"query_flops": rows, "document_flops": rows * (self.texts_per_example - 1.0)}

    def loss_sums(self, outputs, batch, training=False):
        ranked = super().loss_sums(outputs, batch, training)
        return ranked | {name: flops_sum(outputs, batch, self, texts) for name, texts in _FLOPS.items()}

    def loss_factor(self, name, progress=1.0):
        weights = {"query_flops": self.settings.lambda_q, "document_flops": self.settings.lambda_d}
        return weights[name] * ramp(progress) if name in weights else 1.0

    def metric_sums(self, outputs, batch):
        rows = own_rows(outputs, batch, self)
        numbers = ops.sum(ops.cast(rows.texts > 0, "float32"), axis=-1)
        if self.pooling.max_active_dims is not None:  # answers have no more
            numbers = ops.minimum(numbers, self.pooling.max_active_dims)
        numbers *= rows.weights[:, None]
        rows_of = ops.sum(rows.weights)
        words = {
            name: (ops.sum(numbers[:, texts]), rows_of * ops.cast(ops.shape(numbers[:, texts])[1], "float32"))
            for name, texts in _WORDS.items()
        }
        return super().metric_sums(outputs, batch) | words

    def keep(self, rows):
        """`embeddings` as one csr_array for each row, cut as answers are: dense ones of a whole evaluation
        fill no memory."""
        embeddings = sparse_rows(strongest(rows["embeddings"], self.pooling.max_active_dims))
        return rows | {"embeddings": embeddings}

    def similarities(self, values):
        return SparseSimilarities(values["embeddings"], self.pooling.similarity_fn_name)
