import math

import keras
from keras import ops

from kbert.kernels.attention_heads import merge_heads, split_heads
from kbert.kernels.attention_softmax import attention_softmax, mask_adder
from kbert.layers.dropout import Dropout
from kbert.layers.flat_dense import flat_matmul
from kbert.layers.low_rank_dense import lora_dict, lora_of, projection


@keras.saving.register_keras_serializable(package="kbert")
class SelfAttention(keras.layers.Layer):
    """Multi-head scaled dot-product self-attention with its output projection.

    Query, key and value have one kernel each, as in every published BERT, and are computed as one product.

    Args:
      hidden_size: width of input and output.
      num_attention_heads: heads; must divide `hidden_size`.
      dropout: share of the attention probabilities dropped in training.
      initializer_range: standard deviation of the truncated normal initializer.
      packed: whether `input_mask` numbers several texts in a row, see `mask_adder`.
      lora: a `LoraConfig`, see `LowRankDense`; None for no adapters.

    Call arguments:
      hidden_states: tensor of shape `(batch, seq_length, hidden_size)`.
      input_mask: int tensor of shape `(batch, seq_length)`, 1 at real tokens and 0 at padding. No token
        attends to padding. A row with nothing but padding gives finite numbers.
      with_probabilities: also return the attention probabilities, before dropout.

    Returns:
      Tensor like `hidden_states`; with `with_probabilities` a pair of this tensor and a float32 tensor of
      shape `(batch, heads, from_length, to_length)`.

    Reference: google-research/bert, modeling.py, `attention_layer`.
    """

    def __init__(
        self, hidden_size, num_attention_heads, dropout, initializer_range, packed=False, lora=None, **kwargs
    ):
        super().__init__(**kwargs)
        if hidden_size % num_attention_heads:
            raise ValueError(
                f"hidden_size={hidden_size} is not divisible by num_attention_heads={num_attention_heads}."
            )
        self.hidden_size = hidden_size
        self.num_attention_heads = num_attention_heads
        self.dropout = dropout
        self.initializer_range = initializer_range
        self.packed = packed
        self.lora = lora_of(lora)

    def build(self, hidden_states_shape, input_mask_shape):
        def dense(name, target=None):
            layer = projection(
                target or name,
                self.lora,
                self.hidden_size,
                initializer_range=self.initializer_range,
                dtype=self.dtype_policy,
                name=name,
            )
            layer.build(hidden_states_shape)
            return layer

        self.query, self.key, self.value = dense("query"), dense("key"), dense("value")
        self.output_dense = dense("output", "attention_output")
        self.dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def call(self, hidden_states, input_mask, with_probabilities=False, training=False):
        if training and not with_probabilities:
            seed = self.dropout_layer.next_seed()
            return self.output_dense(self.trained_context(hidden_states, input_mask, seed), seed=seed)
        # B batch, S sequence, H width, N heads, D head size
        _, seq_length = ops.shape(input_mask)
        head_size = self.hidden_size // self.num_attention_heads

        kernel, bias = self._joined_weights()
        product = self._joined_product(hidden_states, kernel)
        joined = product + ops.cast(bias, self.compute_dtype)  # (B, S, 3H)
        joined = ops.reshape(joined, (-1, seq_length, 3, self.num_attention_heads, head_size))
        query, key, value = ops.unstack(ops.transpose(joined, (2, 0, 3, 1, 4)), 3)  # 3 x (B, N, S, D)

        # Scores in float32 whatever the policy: a sum over a long row loses too much in 16 bits.
        query *= 1.0 / math.sqrt(head_size)
        scores = ops.cast(ops.einsum("bnfd,bntd->bnft", query, key), "float32")
        probabilities = ops.softmax(scores + mask_adder(input_mask, self.packed), axis=-1)  # (B, N, S, S)
        kept = self.dropout_layer(ops.cast(probabilities, self.compute_dtype), training=training)

        context = ops.einsum("bnft,bntd->bnfd", kept, value)
        context = ops.transpose(context, (0, 2, 1, 3))  # (B, S, N, D)
        context = ops.reshape(context, (-1, seq_length, self.hidden_size))
        context = self.output_dense(context)
        return (context, probabilities) if with_probabilities else context

    def trained_context(self, hidden_states, input_mask, seed):
        """The input of the output projection in training, computed by kernels with hand-written gradients.

        Args:
          hidden_states, input_mask: as for a call.
          seed: the seed of the dropout, uint32 `(2,)`, and of that of adapters.

        Returns:
          Tensor like `hidden_states`.
        """
        kernel, bias = self._joined_weights()
        product = self._joined_product(hidden_states, kernel, seed)
        query, key, value = split_heads(product, bias, self.num_attention_heads)
        scores = ops.einsum("bnfd,bntd->bnft", query, key)
        scale = 1.0 / math.sqrt(self.hidden_size // self.num_attention_heads)
        kept = attention_softmax(scores, input_mask, seed, scale, self.dropout, self.packed)
        return merge_heads(ops.matmul(kept, value), self.num_attention_heads)

    def scores(self, hidden_states):
        """The scores before mask and softmax: queries times keys, divided by the root of the head size.

        They are computed anew from the layer's input, so that a training may look at them without giving up
        the kernels of `trained_context`.

        Args:
          hidden_states: as for a call.

        Returns:
          float32 tensor of shape `(batch, heads, from_length, to_length)`.
        """
        _, seq_length, _ = ops.shape(hidden_states)
        head_size = self.hidden_size // self.num_attention_heads

        def heads(layer):
            projected = layer.product(hidden_states) + ops.cast(layer.bias, self.compute_dtype)
            projected = ops.reshape(projected, (-1, seq_length, self.num_attention_heads, head_size))
            return ops.transpose(projected, (0, 2, 1, 3))  # (B, N, S, D)

        query = heads(self.query) * (1.0 / math.sqrt(head_size))
        return ops.cast(ops.einsum("bnfd,bntd->bnft", query, heads(self.key)), "float32")

    def _joined_weights(self):
        """Query, key and value beside each other: (H, 3H) in the compute dtype, and (3H,) in float32."""
        projections = (self.query, self.key, self.value)
        kernel = ops.concatenate([ops.cast(p.kernel, self.compute_dtype) for p in projections], axis=1)
        return kernel, ops.concatenate([ops.convert_to_tensor(p.bias) for p in projections], axis=0)

    def _joined_product(self, hidden_states, kernel, seed=None):
        """`hidden_states @ kernel`, (B, S, 3H), and what adapters add to it."""
        product = flat_matmul(hidden_states, kernel)
        added = [p.adaptation(hidden_states, seed) for p in (self.query, self.key, self.value)]
        if all(part is None for part in added):
            return product
        nothing = ops.zeros_like(next(part for part in added if part is not None))
        return product + ops.concatenate([nothing if part is None else part for part in added], axis=-1)

    def compute_output_spec(self, hidden_states, input_mask, with_probabilities=False, training=False):
        context = keras.KerasTensor(hidden_states.shape, dtype=self.compute_dtype)
        if not with_probabilities:
            return context
        batch, seq_length = input_mask.shape
        shape = (batch, self.num_attention_heads, seq_length, seq_length)
        return context, keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        names = ("hidden_size", "num_attention_heads", "dropout", "initializer_range", "packed")
        config = {name: getattr(self, name) for name in names}
        return super().get_config() | config | {"lora": lora_dict(self.lora)}
