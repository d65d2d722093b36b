import math

import keras
import numpy as np
from keras import ops

from kbert.layers import fresh_weights
from kbert.layers.encoder_layer import EncoderLayer

_MAX_DISTANCE = 128  # from here on all distances share a bucket


def position_buckets(num_buckets: int, length: int) -> np.ndarray:
    """The bucket of each distance between two positions.

    Half of the buckets are for what stands before a token. Of each half, half are for one distance each; the
    others are wider and wider, up to 128.

    Args:
      num_buckets: how many there are.
      length: the number of positions.

    Returns:
      int32 array of shape `(2 * length,)`: at d that of a token d positions later, at 2 * length - d that of
      one d positions before. The one at `length` belongs to no distance.

    Reference: arXiv 1910.10683 (T5), section 2.1; transformers' MPNet takes the same formula in float32.
    """
    half = num_buckets // 2
    exact = half // 2
    distances = np.arange(length + 1)
    ratio = np.log(np.maximum(distances, 1).astype(np.float32) / np.float32(exact), dtype=np.float32)
    ratio = ratio / np.float32(math.log(_MAX_DISTANCE / exact))
    wide = exact + (ratio * np.float32(half - exact)).astype(np.int32)
    buckets = np.where(distances < exact, distances, np.minimum(wide, half - 1))
    return np.concatenate([buckets[:1], half + buckets[1:length], buckets[:0:-1]]).astype(np.int32)


@keras.saving.register_keras_serializable(package="kbert")
class PositionBias(EncoderLayer):
    """What the distance of two tokens adds to their attention scores, in every layer the same.

    Letters: S sequence, N heads, P the longest sequence.

    Args:
      config: an `EncoderConfig` with `relative_attention_num_buckets`, the rows of the table.

    Call arguments:
      hidden_states: tensor of shape `(batch, S, width)`; its length alone matters.

    Returns:
      float32 tensor of shape `(N, S, S)`: for each head, from a token to a token.

    Reference: arXiv 2004.09297 (MPNet), section 2.3; see `position_buckets`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.num_buckets = self.config.relative_attention_num_buckets or 0
        self._buckets = position_buckets(self.num_buckets, self.config.max_position_embeddings)

    def build(self, input_shape):
        self.relative_attention_bias = self.add_weight(
            name="relative_attention_bias",
            shape=(self.num_buckets, self.config.num_attention_heads),
            initializer=fresh_weights.normal(self.config.initializer_range),
            autocast=False,
        )
        self.built = True

    def call(self, hidden_states):
        positions = ops.arange(ops.shape(hidden_states)[1], dtype="int32")
        return self.between(positions[None, :] - positions[:, None])

    def between(self, distances):
        """What is added to the scores of tokens at these distances.

        Args:
          distances: int32 tensor of shape `(..., from, to)`: how many positions later the second token is.

        Returns:
          float32 tensor of shape `(..., N, from, to)`.
        """
        # Looked up by distance first: the gradient of each number is then a sum over one diagonal alone.
        by_distance = ops.transpose(ops.take(self.relative_attention_bias, self._buckets, axis=0))  # (N, 2P)
        heads = ops.arange(self.config.num_attention_heads, dtype="int32")[:, None, None]
        width = 2 * self.config.max_position_embeddings
        indices = (distances % width)[..., None, :, :] + heads * width
        return ops.take(ops.reshape(by_distance, (-1,)), indices)

    def compute_output_spec(self, hidden_states):
        length = hidden_states.shape[1]
        return keras.KerasTensor((self.config.num_attention_heads, length, length), "float32")
