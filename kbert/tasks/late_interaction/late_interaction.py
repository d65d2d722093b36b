"""A text -> a vector for each token (ColBERT)."""

from dataclasses import dataclass

import keras
from keras import ops

from kbert.config.checks import Length, check_values
from kbert.config.token_vectors_config import TOKEN_VECTORS_LAYER, TokenVectorsConfig
from kbert.heads.parts import Part
from kbert.layers.vector_dense import VectorDense, unit
from kbert.tasks.late_interaction.late_serving import LateServing
from kbert.tasks.late_interaction.late_vectors import LateVectors
from kbert.tasks.similarity.embedding_task import EmbeddingTask


@dataclass(frozen=True)
class LateInteractionSettings:
    """How a text becomes a matrix.

    `normalize` brings each vector to length 1. A query is cut to `query_length` tokens and a document to
    `document_length`. What is left out is taken from the checkpoint, where that says it, see
    `TokenVectorsConfig`.
    """

    normalize: bool | None = None
    query_length: Length | None = None
    document_length: Length | None = None

    def __post_init__(self):
        check_values(self)


@keras.saving.register_keras_serializable(package="kbert")
class TokenVectors(VectorDense):
    """A `VectorDense` on each token; with `normalize` its vectors are brought to length 1 at the end."""

    def __init__(self, dense=(), normalize=False, **kwargs):
        super().__init__(dense, **kwargs)
        self.normalize = normalize

    def call(self, vectors):
        vectors = super().call(ops.cast(vectors, "float32"))
        return unit(vectors) if self.normalize else vectors

    def get_config(self):
        return super().get_config() | {"normalize": self.normalize}


@keras.saving.register_keras_serializable(package="kbert")
class GroupedMatrices(keras.layers.Layer):
    """`GroupedVectors` of matrices: (batch * texts, length, width) -> (batch, texts, length, width).

    Call arguments:
      matrices: tensor of that shape.
      input_ids: int tensor of shape `(batch, texts, length)`; only its shape is used.
    """

    def call(self, matrices, input_ids):
        return ops.reshape(matrices, (*ops.shape(input_ids), matrices.shape[-1]))

    def compute_output_spec(self, matrices, input_ids):
        return keras.KerasTensor((*input_ids.shape, matrices.shape[-1]), dtype=matrices.dtype)


class LateInteraction(EmbeddingTask):
    """Token vectors of texts, compared by MaxSim.

    The output `embeddings` is float32 (batch, texts, length, width). Which tokens are scored is a matter of
    the text's task, see `TokenInputs`.

    Args:
      further_pooling: what the checkpoint that the task starts from says of its vectors.
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

    Reference: arXiv 2004.12832, section 3.
    """

    name = "late_interaction"
    settings_class = LateInteractionSettings
    vectors_class = TokenVectorsConfig
    own_settings = {name: name for name in ("normalize", "query_length", "document_length")}
    serving_class = LateServing
    text_vectors_class = LateVectors
    grouping = GroupedMatrices

    def __init__(self, further_pooling=None, **settings):
        super().__init__(further_pooling, **settings)
        self.parts = (Part(TOKEN_VECTORS_LAYER, "sequence_output"),) if self.pooling.dense else ()

    def vectors(self, encoder, sequence_output, input_mask):
        layer = TokenVectors(
            self.pooling.dense, self.pooling.normalize, name=TOKEN_VECTORS_LAYER, dtype="float32"
        )
        return layer(sequence_output)
