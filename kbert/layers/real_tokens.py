import keras
from keras import ops

# The number of tokens is rounded up to a multiple, so that few shapes occur: each costs a compilation.
_MULTIPLE = 128


@keras.saving.register_keras_serializable(package="kbert")
class RealTokens(keras.layers.Layer):
    """Where the real tokens of a padded batch lie, for layers that work on those alone.

    Letters: B batch, S sequence, T real tokens of the batch, rounded up to a multiple of 128.

    Call arguments:
      input_mask: int tensor of shape `(batch, seq_length)`, 0 at padding.

    Returns:
      (places, rows): int32 `(T,)`, the place of each token in the flattened batch, B * S for those that
      fill up; int32 `(B, S)`, the row of each place in the list of tokens, T at padding.
    """

    def call(self, input_mask):
        real = ops.reshape(ops.cast(ops.not_equal(input_mask, 0), "int32"), (-1,))  # (B * S,)
        number = ops.sum(real)
        fill = -number % _MULTIPLE
        (places,) = ops.nonzero(real)
        end = ops.shape(real)[0]
        places = ops.concatenate([ops.cast(places, "int32"), ops.broadcast_to(end, (fill,))])
        rows = ops.where(real > 0, ops.cumsum(real) - 1, number + fill)
        return places, ops.reshape(rows, ops.shape(input_mask))

    def compute_output_spec(self, input_mask):
        return keras.KerasTensor((None,), "int32"), keras.KerasTensor(input_mask.shape, "int32")
