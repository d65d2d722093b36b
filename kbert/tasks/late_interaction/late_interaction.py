"""A text -> a vector for each token (ColBERT)."""

from dataclasses import dataclass

from kbert.checks import CheckedSettings, Length, require
from kbert.config.token_vectors_config import FIXED, TOKEN_VECTORS_LAYER, TokenVectorsConfig
from kbert.features import SCORED_TOKENS, TARGET_FEATURE, Feature
from kbert.heads import token_vectors
from kbert.heads.parts import Part
from kbert.late_tensorflow import ops
from kbert.tasks.file_columns import task_files
from kbert.tasks.late_interaction.late_serving import LateServing
from kbert.tasks.late_interaction.late_similarities import LateSimilarities, scored_matrices
from kbert.tasks.late_interaction.late_vectors import LateVectors
from kbert.tasks.late_interaction.maxsim import maxsim_of_all
from kbert.tasks.late_interaction.token_inputs import tokenize_groups
from kbert.tasks.similarity.in_batch_loss import COUPLED, divergence_sum
from kbert.tasks.similarity.in_batch_task import InBatchTask

_QUERY_LENGTH = 32  # of a new model, in tokens (arXiv 2004.12832, section 4.1)


@dataclass(frozen=True)
class LateInteractionSettings(CheckedSettings):
    """How a text becomes a matrix.

    `normalize` brings each vector to length 1. A query is cut to `query_length` tokens and a document to
    `document_length`, whatever the config's `max_seq_length` is, up to the encoder's positions. What is left
    out is taken from the checkpoint, where that says it, see `TokenVectorsConfig`. An encoder without token
    vectors gets those of `TokenVectorsConfig.colbert`, whose queries are filled up to `query_length`, or 32
    tokens. A checkpoint that fills them up to another fixed length keeps it, and no other `query_length` is
    taken.
    """

    normalize: bool | None = None
    query_length: Length | None = None
    document_length: Length | None = None


class LateInteraction(InBatchTask):
    """Token vectors of texts, compared by MaxSim: in-batch negatives, or what a teacher says of them.

    The output `embeddings` is float32 (batch, texts, length, width). Which tokens are scored is a matter of
    the text's task, see `TokenInputs`. The logits of the softmax are MaxSim as it is. The scores of a teacher
    are learnt by `divergence_sum`.

    Args:
      further_pooling: what the checkpoint that the task starts from says of its vectors.
      num_negatives, is_taught: as for an `InBatchTask`.
      settings: those of `LateInteractionSettings`, by name.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig
      >>> from kbert.tasks.late_interaction.late_interaction import LateInteraction
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> task = LateInteraction({"dense": [{"units": 4, "activation": "Identity", "use_bias": False}]})
      >>> model = task.build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((3, 2, 7), "int32")
      >>> tuple(model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})["embeddings"].shape)
      (3, 2, 7, 4)

    Reference: arXiv 2004.12832, section 3; sentence-transformers, multi_vector_encoder/losses/
    multiple_negatives_ranking.py.
    """

    name = "late_interaction"
    settings_class = LateInteractionSettings
    vectors_class = TokenVectorsConfig
    own_settings = {name: name for name in ("normalize", "query_length", "document_length")}
    serving_class = LateServing
    text_vectors_class = LateVectors
    files = task_files(name)
    can_record = False
    collected = ("embeddings", SCORED_TOKENS, TARGET_FEATURE)
    coupled = (*COUPLED, SCORED_TOKENS)
    taught_sum = staticmethod(divergence_sum)

    def __init__(self, further_pooling=None, **settings):
        super().__init__(further_pooling, **settings)
        self.parts = (Part(TOKEN_VECTORS_LAYER, "sequence_output"),) if self.pooling.dense else ()

    def vectors(self, encoder, sequence_output, input_mask):
        self.pooling.require_positions(encoder.config.max_position_embeddings)
        layer = token_vectors.TokenVectors(
            self.pooling.dense, self.pooling.normalize, name=TOKEN_VECTORS_LAYER, dtype="float32"
        )
        return layer(sequence_output)

    @property
    def grouping(self):
        return token_vectors.GroupedMatrices

    @property
    def reads_unattended(self):
        """Those that fill a query."""
        expansion = self.pooling.query_expansion
        return expansion is not None and not expansion.attend

    @property
    def can_pack(self):
        """Rows of several texts hold no token that nobody attends to."""
        return not self.reads_unattended

    def with_pooling(self, pooling):
        """As an `EmbeddingTask`; an encoder that says nothing of token vectors gets those of ColBERT.

        Raises:
          ValueError: for a `query_length` beside queries of another fixed length.
        """
        if not isinstance(pooling, TokenVectorsConfig) and not self._further_pooling:
            usual = TokenVectorsConfig.colbert(self.settings.query_length or _QUERY_LENGTH)
            pooling = usual.with_prompts(pooling)
        expansion, length = getattr(pooling, "query_expansion", None), self.settings.query_length
        if expansion and expansion.strategy == FIXED:
            require(
                length in (None, pooling.query_length, expansion.length),
                f"task_settings.query_length={length}, but the checkpoint's queries are all filled up, or "
                f"cut, to {expansion.length} tokens; leave it out.",
            )
        return super().with_pooling(pooling)

    # ------------------------------------------------------------------------------- examples

    def check_training(self, config, examples):
        super().check_training(config, examples)
        self.pooling.require_positions(config.encoder.max_position_embeddings)

    def features(self, max_seq_length):
        length = -1 if max_seq_length == -1 else self.pooling.row_length(max_seq_length)
        scored = Feature("int32", (self.texts_per_example, length))
        return super().features(length) | {SCORED_TOKENS: scored}

    def tokenize(self, examples, text_inputs):
        return tokenize_groups(examples, self.prompts, text_inputs, self.pooling)

    # ------------------------------------------------------------------------------- losses and scores

    def comparable(self, values):
        """(rows, texts, length, width + 1): the vectors, and whether each is scored."""
        scored = ops.cast(values[SCORED_TOKENS], "float32")[..., None]
        return ops.concatenate([values["embeddings"], scored], axis=-1)

    def compare(self, queries, candidates):
        return maxsim_of_all(queries, candidates)

    def keep(self, rows):
        """`embeddings` as a list of matrices for each row, without the tokens that are not scored."""
        matrices = scored_matrices(rows["embeddings"], rows[SCORED_TOKENS])
        return {name: value for name, value in rows.items() if name != SCORED_TOKENS} | {
            "embeddings": matrices
        }

    def similarities(self, values):
        return LateSimilarities(values["embeddings"], self.pooling.is_mean)
