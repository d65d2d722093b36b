"""A vector for each token: what late interaction has on top of the encoder."""

import keras
from keras import ops

from kbert.layers.unit_length import unit
from kbert.layers.vector_dense import VectorDense


@keras.saving.register_keras_serializable(package="kbert")
class TokenVectors(VectorDense):
    """A `VectorDense` on each token; with `normalize` its vectors are brought to length 1 at the end."""

    def __init__(self, dense=(), normalize=False, **kwargs):
        super().__init__(dense, **kwargs)
        self.normalize = normalize

    def call(self, vectors):
        # As a matrix, so that the gradients of dense layers have a shape that is known.
        flat = super().call(ops.reshape(ops.cast(vectors, "float32"), (-1, vectors.shape[-1])))
        flat = unit(flat) if self.normalize else flat
        return ops.reshape(flat, (*ops.shape(vectors)[:-1], flat.shape[-1]))

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
