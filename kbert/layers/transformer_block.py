import keras
from keras import ops

from kbert.kernels.residual_norm import residual_norm
from kbert.layers.dropout import Dropout
from kbert.layers.feed_forward import FeedForward
from kbert.layers.low_rank_dense import lora_dict, lora_of
from kbert.layers.self_attention import SelfAttention


@keras.saving.register_keras_serializable(package="kbert")
class TransformerBlock(keras.layers.Layer):
    """Self-attention and feed-forward, each followed by dropout, residual and layer norm (post-LN).

    Args:
      hidden_size: width of input and output.
      num_attention_heads: heads of the self-attention.
      intermediate_size: width inside the feed-forward part.
      hidden_act: name of the activation, see kbert.config.ACTIVATIONS.
      hidden_dropout: share dropped before each residual sum, in training.
      attention_dropout: share of attention probabilities dropped, in training.
      layer_norm_eps: epsilon of both layer norms.
      initializer_range: standard deviation of the truncated normal initializer.
      packed: whether `input_mask` numbers several texts in a row, see `mask_adder`.
      lora: a `LoraConfig`, see `LowRankDense`; None for no adapters.
      recompute: keep only the block's input in training and run the block again in the backward pass: a third
        more work for a tenth of the memory (arXiv 1604.06174).

    Call arguments:
      hidden_states: tensor of shape `(batch, seq_length, hidden_size)`.
      input_mask: int tensor of shape `(batch, seq_length)`, 1 at real tokens and 0 at padding.
      with_probabilities: also return the attention probabilities, see `SelfAttention`.

    Returns:
      Tensor of shape `(batch, seq_length, hidden_size)`; with `with_probabilities` a pair of this tensor and
      a float32 tensor of shape `(batch, heads, from_length, to_length)`.

    Reference: google-research/bert, modeling.py, `transformer_model`.
    """

    def __init__(
        self,
        hidden_size,
        num_attention_heads,
        intermediate_size,
        hidden_act,
        hidden_dropout,
        attention_dropout,
        layer_norm_eps,
        initializer_range,
        packed=False,
        recompute=False,
        lora=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.hidden_size = hidden_size
        self.num_attention_heads = num_attention_heads
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.hidden_dropout = hidden_dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_eps = layer_norm_eps
        self.initializer_range = initializer_range
        self.packed = packed
        self.recompute = recompute
        self.lora = lora_of(lora)

    def build(self, hidden_states_shape, input_mask_shape):
        self.attention = SelfAttention(
            self.hidden_size,
            self.num_attention_heads,
            dropout=self.attention_dropout,
            initializer_range=self.initializer_range,
            packed=self.packed,
            lora=self.lora,
            dtype=self.dtype_policy,
            name="attention",
        )
        self.attention.build(hidden_states_shape, input_mask_shape)
        self.attention_layer_norm = self._layer_norm("attention_layer_norm", hidden_states_shape)
        self.feed_forward = FeedForward(
            self.hidden_size,
            self.intermediate_size,
            self.hidden_act,
            initializer_range=self.initializer_range,
            lora=self.lora,
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        self.feed_forward.build(hidden_states_shape)
        self.feed_forward_layer_norm = self._layer_norm("feed_forward_layer_norm", hidden_states_shape)
        self.dropout_layer = Dropout(self.hidden_dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def _layer_norm(self, name, hidden_states_shape):
        layer_norm = keras.layers.LayerNormalization(
            epsilon=self.layer_norm_eps, dtype=self.dtype_policy, name=name
        )
        layer_norm.build(hidden_states_shape)
        return layer_norm

    def call(self, hidden_states, input_mask, with_probabilities=False, training=False):
        if training and not with_probabilities:
            return self._trained(hidden_states, input_mask)
        attended = self.attention(
            hidden_states, input_mask, with_probabilities=with_probabilities, training=training
        )
        if with_probabilities:
            attended, probabilities = attended
        attended = self.dropout_layer(attended, training=training)
        hidden_states = self.attention_layer_norm(hidden_states + attended)

        transformed = self.feed_forward(hidden_states, training=training)
        transformed = self.dropout_layer(transformed, training=training)
        hidden_states = self.feed_forward_layer_norm(hidden_states + transformed)
        return (hidden_states, probabilities) if with_probabilities else hidden_states

    def _trained(self, hidden_states, input_mask):
        """The same computation for training, by kernels with hand-written gradients."""
        shape = ops.shape(hidden_states)
        # Drawn before the block runs, so that running it again (`recompute`) uses the same seeds.
        seeds = (
            self.attention.dropout_layer.next_seed(),
            *(self.dropout_layer.next_seed() for _ in range(2)),
        )

        def block(hidden_states, input_mask, for_attention, first, second):
            context = self.attention.trained_context(hidden_states, input_mask, for_attention)
            hidden_states, context = (
                ops.reshape(x, (-1, self.hidden_size)) for x in (hidden_states, context)
            )
            hidden_states = self._residual_norm(
                self.attention.output_dense, context, hidden_states, self.attention_layer_norm, first
            )
            widened = self.feed_forward.intermediate(hidden_states, training=True, seed=first)
            hidden_states = self._residual_norm(
                self.feed_forward.output_dense, widened, hidden_states, self.feed_forward_layer_norm, second
            )
            return ops.reshape(hidden_states, shape)

        if self.recompute:
            block = keras.remat(block)
        return block(hidden_states, input_mask, *seeds)

    def _residual_norm(self, dense, inputs, residual, layer_norm, seed):
        return residual_norm(
            dense.product(inputs, seed),
            dense.bias,
            residual,
            layer_norm.gamma,
            layer_norm.beta,
            seed,
            rate=self.hidden_dropout,
            epsilon=self.layer_norm_eps,
        )

    def compute_output_spec(self, hidden_states, input_mask, with_probabilities=False, training=False):
        return self.attention.compute_output_spec(hidden_states, input_mask, with_probabilities)

    def get_config(self):
        names = (
            "hidden_size",
            "num_attention_heads",
            "intermediate_size",
            "hidden_act",
            "hidden_dropout",
            "attention_dropout",
            "layer_norm_eps",
            "initializer_range",
            "packed",
            "recompute",
        )
        config = {name: getattr(self, name) for name in names}
        return super().get_config() | config | {"lora": lora_dict(self.lora)}
