from types import SimpleNamespace

import keras
from keras import ops

from kbert.layers.dropout import Dropout
from kbert.layers.encoder_layer import EncoderLayer
from kbert.layers.flat_dense import AnsweringDense
from kbert.layers.layer_norm import LayerNorm, PreLayerNorm, Residual, answering_norm
from kbert.layers.low_rank_dense import lora_config, lora_dict
from kbert.layers.self_attention import AnsweringAttention, Rows, SelfAttention


def transformer_block(block, hidden, rows, seeds=(None, None, None), with_probabilities=False):
    """Self-attention and feed-forward over tokens: the formula, for training, Keras and answers alike.

    What its parts compute with is their own affair: kernels in training, plain ops outside of it, and in
    an `AnsweringBlock` the ops that TensorFlow fuses for a server.

    Args:
      block: a `TransformerBlock` or an `AnsweringBlock`.
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
    before = norm.before(attended, first)
    widened = block.feed_forward.intermediate(before, training=first is not None, seed=first)
    outputs = norm.after(attended, block.feed_forward.output_dense, widened, second)
    if block.final_layer_norm is not None:
        outputs = block.final_layer_norm.before(outputs, second)
    return outputs, probabilities


@keras.saving.register_keras_serializable(package="kbert")
class FeedForward(EncoderLayer):
    """Two dense layers over each token: to `intermediate_size` with the activation, and back.

    The block computes the first, `intermediate`, and `LayerNorm.after` the second, `output_dense`.

    Args:
      config: an `EncoderConfig`.
      lora: a `LoraConfig`, see `LowRankDense`; None for no adapters.

    Reference: google-research/bert, modeling.py, `transformer_model` ("intermediate" and "output").
    """

    def __init__(self, config, lora=None, **kwargs):
        super().__init__(config, **kwargs)
        self.lora = lora_config(lora)

    def build(self, input_shape):
        config = self.config
        hidden, inner = config.hidden_size, config.intermediate_size

        def dense(name, inputs, units, hidden_act=None, **kwargs):
            kwargs |= {"target": f"feed_forward_{name}", "lora": self.lora, "use_bias": config.mlp_bias}
            return self.make_dense(name, inputs, units, hidden_act, **kwargs)

        gated = config.is_gated_act
        self.intermediate = dense("intermediate", hidden, inner, config.hidden_act, is_gated_act=gated)
        output_range = config.output_initializer_range
        self.output_dense = dense("output", inner, hidden, initializer_range=output_range)
        self.built = True

    def get_config(self):
        return super().get_config() | {"lora": lora_dict(self.lora)}


@keras.saving.register_keras_serializable(package="kbert")
class TransformerBlock(EncoderLayer):
    """Self-attention and feed-forward, each followed by dropout, residual and layer norm (post-LN).

    With `normalize_first` the norms stand before them instead (pre-LN). Then the first block has no norm
    before its attention, for its input is normed already; the last norms its outputs.

    Args:
      config: an `EncoderConfig`.
      index: of the layer.
      packed: whether `input_mask` numbers several texts in a row, see `mask_adder`.
      recompute: keep only the block's input in training and run the block again in the backward pass: a third
        more work for a tenth of the memory (arXiv 1604.06174).
      lora: a `LoraConfig`, see `LowRankDense`; None for no adapters.

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

    def __init__(self, config, index, packed=False, recompute=False, lora=None, **kwargs):
        # Keras would round the position bias to the compute dtype, and scores are summed in float32.
        super().__init__(config, autocast=False, **kwargs)
        self.index = index
        self.packed = packed
        self.recompute = recompute
        self.lora = lora_config(lora)

    def build(self, hidden_states_shape, input_mask_shape):
        config, policy = self.config, self.dtype_policy
        is_first, is_last = self.index == 0, self.index == config.num_hidden_layers - 1
        self.attention = SelfAttention(config, self.index, self.lora, dtype=policy, name="attention")
        self.attention.build(hidden_states_shape)
        if config.normalize_first and is_first:
            self.attention_layer_norm = Residual(config.hidden_dropout_prob, dtype=policy)
        else:
            self.attention_layer_norm = self._layer_norm("attention_layer_norm")
        self.feed_forward = FeedForward(config, self.lora, dtype=policy, name="feed_forward")
        self.feed_forward.build(hidden_states_shape)
        self.feed_forward_layer_norm = self._layer_norm("feed_forward_layer_norm")
        self.final_layer_norm = None
        if config.normalize_first and is_last:
            self.final_layer_norm = self._layer_norm("final_layer_norm")
        self.dropout_layer = Dropout(config.hidden_dropout_prob, dtype=policy, name="dropout")
        self.built = True

    def _layer_norm(self, name):
        config = self.config
        kind = PreLayerNorm if config.normalize_first else LayerNorm
        return self.make_norm(name, config.hidden_size, config.hidden_dropout_prob, kind)

    def call(self, hidden_states, input_mask, position_bias=None, with_probabilities=False, training=False):
        seeds = (None, None, None)
        if training:  # drawn before the block runs, so that running it again (`recompute`) uses the same ones
            dropouts = (self.attention.dropout_layer, self.dropout_layer, self.dropout_layer)
            seeds = tuple(layer.next_seed() for layer in dropouts)

        def block(hidden_states, input_mask, for_attention, first, second, position_bias=None):
            hidden_states = ops.cast(hidden_states, self.compute_dtype)
            # Kernels take tokens alone.
            hidden = ops.reshape(hidden_states, (-1, self.config.hidden_size)) if training else hidden_states
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
        shape = (batch, self.config.num_attention_heads, seq_length, seq_length)
        return hidden, keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        settings = {"index": self.index, "packed": self.packed, "recompute": self.recompute}
        return super().get_config() | settings | {"lora": lora_dict(self.lora)}


class AnsweringBlock:
    """The parts of a `TransformerBlock` for answers, under the same names.

    Args:
      block: the built `TransformerBlock`.
      precision: "float32" or "bfloat16", of the dense layers and what lies between them.
    """

    def __init__(self, block: TransformerBlock, precision: str):
        self.attention = AnsweringAttention(block.attention, precision)
        self.attention_layer_norm = answering_norm(block.attention_layer_norm)
        self.feed_forward = SimpleNamespace(
            intermediate=AnsweringDense(block.feed_forward.intermediate, precision),
            output_dense=AnsweringDense(block.feed_forward.output_dense, precision),
        )
        self.feed_forward_layer_norm = answering_norm(block.feed_forward_layer_norm)
        self.final_layer_norm = block.final_layer_norm and answering_norm(block.final_layer_norm)
