import keras
from keras import ops

from kbert.layers.dropout import Dropout
from kbert.layers.layer_norm import LayerNorm, PreLayerNorm, Residual
from kbert.layers.low_rank_dense import lora_config, lora_dict, projection
from kbert.layers.self_attention import Rows, SelfAttention


def transformer_block(block, hidden, rows, seeds=(None, None, None), with_probabilities=False):
    """Self-attention and feed-forward over tokens: the formula, for training, Keras and answers alike.

    What its parts compute with is their own affair: kernels in training, plain ops outside of it, and in
    `AnsweringEncoder` the ops that TensorFlow fuses for a server.

    Args:
      block: a `TransformerBlock`, or the same parts under the same names.
      hidden: hidden states of all tokens, `(tokens, hidden_size)`; outside of training Keras's stay
        `(batch, seq_length, hidden_size)`, whose products TensorFlow rounds otherwise.
      rows: where these stand, and which of them the block computes anew: `Rows`, or `SharedRows`.
      seeds: of the three dropouts, uint32 of shape (2,) each; None outside of training.
      with_probabilities: see `SelfAttention.attend`.

    Returns:
      (hidden states of the tokens that `rows.queries` picks, attention probabilities)
    """
    for_attention, first, second = seeds
    norm = block.attention_layer_norm
    query, key, value = block.attention.heads(norm.before(hidden, for_attention), rows, for_attention)
    context, probabilities = block.attention.attend(
        query, key, value, rows, for_attention, with_probabilities
    )
    attended = norm.after(rows.queries(hidden), block.attention.output_dense, context, first)
    norm = block.feed_forward_layer_norm
    widened = block.feed_forward(norm.before(attended, first), first)
    outputs = norm.after(attended, block.feed_forward.output_dense, widened, second)
    if block.final_layer_norm is not None:
        outputs = block.final_layer_norm.before(outputs, second)
    return outputs, probabilities


@keras.saving.register_keras_serializable(package="kbert")
class FeedForward(keras.layers.Layer):
    """Two dense layers over each token: to `intermediate_size` with the activation, and back.

    A call computes the first; the second, `output_dense`, is computed by `LayerNorm.after`.

    Args:
      hidden_size: width of input and output.
      intermediate_size: width in between.
      hidden_act: name of the activation, see kbert.config.ACTIVATIONS.
      initializer_range: standard deviation of the truncated normal initializer.
      lora: a `LoraConfig`, see `LowRankDense`; None for no adapters.
      use_bias, is_gated_act: see `FlatDense`; the second is of the first layer alone.
      output_initializer_range: that of the second layer; None for that of the first.

    Call arguments:
      hidden: tensor of shape `(tokens, hidden_size)`.
      seed: of an adapter's dropout, uint32 of shape (2,); None outside of training.

    Returns:
      Tensor of shape `(tokens, intermediate_size)`.

    Reference: google-research/bert, modeling.py, `transformer_model` ("intermediate" and "output").
    """

    def __init__(
        self,
        hidden_size,
        intermediate_size,
        hidden_act,
        initializer_range,
        lora=None,
        use_bias=True,
        is_gated_act=False,
        output_initializer_range=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range
        self.lora = lora_config(lora)
        self.use_bias = use_bias
        self.is_gated_act = is_gated_act
        self.output_initializer_range = output_initializer_range or initializer_range

    def build(self, input_shape):
        def dense(name, units, initializer_range, act=None, is_gated_act=False):
            return projection(
                f"feed_forward_{name}",
                self.lora,
                units,
                act,
                initializer_range=initializer_range,
                use_bias=self.use_bias,
                is_gated_act=is_gated_act,
                dtype=self.dtype_policy,
                name=name,
            )

        self.intermediate = dense(
            "intermediate",
            self.intermediate_size,
            self.initializer_range,
            self.hidden_act,
            self.is_gated_act,
        )
        self.intermediate.build(input_shape)
        self.output_dense = dense("output", self.hidden_size, self.output_initializer_range)
        self.output_dense.build((*input_shape[:-1], self.intermediate_size))
        self.built = True

    def call(self, hidden, seed=None):
        return self.intermediate(hidden, training=seed is not None, seed=seed)

    def get_config(self):
        names = ("hidden_size", "intermediate_size", "hidden_act", "initializer_range")
        names += ("use_bias", "is_gated_act", "output_initializer_range")
        config = {name: getattr(self, name) for name in names}
        return super().get_config() | config | {"lora": lora_dict(self.lora)}


@keras.saving.register_keras_serializable(package="kbert")
class TransformerBlock(keras.layers.Layer):
    """Self-attention and feed-forward, each followed by dropout, residual and layer norm (post-LN).

    With `normalize_first` the norms stand before them instead (pre-LN).

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
      output_initializer_range: that of the last dense layers of attention and feed-forward; None for that of
        the others.
      attention_bias, mlp_bias, norm_bias: whether attention, feed-forward and norms have biases.
      is_gated_act: see `FlatDense`.
      rope_theta, window: see `SelfAttention`.
      normalize_first: see above.
      is_first, is_last: with `normalize_first` the first block of a stack has no norm before its attention,
        for its input is normed already; the last norms its outputs.

    Call arguments:
      hidden_states: tensor of shape `(batch, seq_length, hidden_size)`.
      input_mask: int tensor of shape `(batch, seq_length)`, 1 at real tokens and 0 at padding.
      position_bias: see `Rows`.
      with_probabilities: also return the attention probabilities, before dropout.

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
        output_initializer_range=None,
        attention_bias=True,
        mlp_bias=True,
        norm_bias=True,
        is_gated_act=False,
        rope_theta=None,
        window=None,
        normalize_first=False,
        is_first=False,
        is_last=False,
        **kwargs,
    ):
        # Keras would round the position bias to the compute dtype, and scores are summed in float32.
        super().__init__(autocast=False, **kwargs)
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
        self.lora = lora_config(lora)
        self.output_initializer_range = output_initializer_range
        self.attention_bias = attention_bias
        self.mlp_bias = mlp_bias
        self.norm_bias = norm_bias
        self.is_gated_act = is_gated_act
        self.rope_theta = rope_theta
        self.window = window
        self.normalize_first = normalize_first
        self.is_first = is_first
        self.is_last = is_last

    def build(self, hidden_states_shape, input_mask_shape):
        self.attention = SelfAttention(
            self.hidden_size,
            self.num_attention_heads,
            dropout=self.attention_dropout,
            initializer_range=self.initializer_range,
            lora=self.lora,
            use_bias=self.attention_bias,
            rope_theta=self.rope_theta,
            window=self.window,
            output_initializer_range=self.output_initializer_range,
            dtype=self.dtype_policy,
            name="attention",
        )
        self.attention.build(hidden_states_shape)
        if self.normalize_first and self.is_first:
            self.attention_layer_norm = Residual(self.hidden_dropout, dtype=self.dtype_policy)
        else:
            self.attention_layer_norm = self._layer_norm("attention_layer_norm", hidden_states_shape)
        self.feed_forward = FeedForward(
            self.hidden_size,
            self.intermediate_size,
            self.hidden_act,
            initializer_range=self.initializer_range,
            lora=self.lora,
            use_bias=self.mlp_bias,
            is_gated_act=self.is_gated_act,
            output_initializer_range=self.output_initializer_range,
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        self.feed_forward.build(hidden_states_shape)
        self.feed_forward_layer_norm = self._layer_norm("feed_forward_layer_norm", hidden_states_shape)
        self.final_layer_norm = None
        if self.normalize_first and self.is_last:
            self.final_layer_norm = self._layer_norm("final_layer_norm", hidden_states_shape)
        self.dropout_layer = Dropout(self.hidden_dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def _layer_norm(self, name, hidden_states_shape):
        layer_norm = (PreLayerNorm if self.normalize_first else LayerNorm)(
            self.layer_norm_eps,
            self.hidden_dropout,
            center=self.norm_bias,
            dtype=self.dtype_policy,
            name=name,
        )
        layer_norm.build(hidden_states_shape)
        return layer_norm

    def call(self, hidden_states, input_mask, position_bias=None, with_probabilities=False, training=False):
        seeds = (None, None, None)
        if training:  # drawn before the block runs, so that running it again (`recompute`) uses the same ones
            dropouts = (self.attention.dropout_layer, self.dropout_layer, self.dropout_layer)
            seeds = tuple(layer.next_seed() for layer in dropouts)

        def block(hidden_states, input_mask, for_attention, first, second, position_bias=None):
            hidden_states = ops.cast(hidden_states, self.compute_dtype)
            # Kernels take tokens alone.
            hidden = ops.reshape(hidden_states, (-1, self.hidden_size)) if training else hidden_states
            rows = Rows(input_mask, self.packed, position_bias)
            seeds = for_attention, first, second
            hidden, probabilities = transformer_block(self, hidden, rows, seeds, with_probabilities)
            hidden = ops.reshape(hidden, ops.shape(hidden_states))
            return (hidden, probabilities) if with_probabilities else hidden

        if training and self.recompute:
            block = keras.remat(block)
        bias = () if position_bias is None else (position_bias,)  # `remat` takes no None
        return block(hidden_states, input_mask, *seeds, *bias)

    def compute_output_spec(
        self, hidden_states, input_mask, position_bias=None, with_probabilities=False, training=False
    ):
        hidden = keras.KerasTensor(hidden_states.shape, dtype=self.compute_dtype)
        if not with_probabilities:
            return hidden
        batch, seq_length = input_mask.shape
        shape = (batch, self.num_attention_heads, seq_length, seq_length)
        return hidden, keras.KerasTensor(shape, dtype="float32")

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
            "output_initializer_range",
            "attention_bias",
            "mlp_bias",
            "norm_bias",
            "is_gated_act",
            "rope_theta",
            "window",
            "normalize_first",
            "is_first",
            "is_last",
        )
        config = {name: getattr(self, name) for name in names}
        return super().get_config() | config | {"lora": lora_dict(self.lora)}
