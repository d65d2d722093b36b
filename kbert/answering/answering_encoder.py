"""The encoder for answering: a graph of few and large ops over real tokens."""

import math

import keras
import tensorflow as tf

from kbert.answering.real_tokens import RealTokens
from kbert.encoder import BertEncoder

OUTPUTS = ("sequence_output", "pooled_output", "hidden_states")
PRECISIONS = ("float32", "bfloat16")


class AnsweringEncoder(keras.layers.Layer):
    """What a `BertEncoder` computes without training, faster.

    Three things differ, none of which changes a float32 answer beyond rounding:

    - Dense layers work on real tokens, and in the attention short texts share rows as wide as the longest.
      So one long text does not make 31 short ones as expensive as itself.
    - The ops stand as TensorFlow's grappler fuses them: product, bias and GELU; product, bias and residual;
      scores, scale and mask are one op each.
    - With "pooled_output" alone, the last layer computes first tokens only.

    In float32 the weights are the encoder's own. In bfloat16 those of the dense layers are copies, which
    later changes of the encoder do not reach.

    Args:
      encoder: the `BertEncoder`, in float32 and not packed.
      precision: "float32"; or "bfloat16" for the dense layers and what lies between them, for CPUs that have
        instructions for it. Norms, embeddings and outputs stay in float32.
      outputs: one or more names of OUTPUTS.

    Attributes:
      config: the `EncoderConfig` of `encoder`.

    Call arguments:
      a dict of int32 tensors of shape `(batch, seq_length)`: `input_ids`, `input_mask`, `segment_ids`, as for
      `BertEncoder`.

    Returns:
      a dict as `BertEncoder` returns it, in float32; zeros at padding.

    Raises:
      ValueError: for an unknown precision or output, or an encoder that is packed or not in float32; when it
        is called with `training=True`.
    """

    def __init__(self, encoder: BertEncoder, precision="float32", outputs=("pooled_output",)):
        super().__init__(name="encoder", dtype="float32")
        _check(encoder, precision, outputs)
        self.precision, self.outputs = precision, tuple(outputs)
        self.config, self._embeddings, self._pooler = encoder.config, encoder.embeddings, encoder.pooler
        projection = encoder.embeddings.projection
        self._projection = None if projection is None else _weights_of(projection, precision)
        self._blocks = [_Block(block, encoder.config, precision) for block in encoder.blocks]

    def call(self, inputs, training=False, mask=None):
        del mask  # a functional model hands it to every model in it
        if training:
            raise ValueError("an AnsweringEncoder is not trained; train the model that it was made of.")
        tokens = RealTokens(inputs["input_mask"])
        mask = tokens.rows.mask(tokens.rows, self.precision)
        states = [self._embedded(inputs, tokens)]
        only_first = self.outputs == ("pooled_output",)
        *blocks, last = self._blocks
        for block in blocks:
            states.append(block(states[-1], states[-1], tokens.rows, tokens.rows, mask))
        if only_first:
            mask = tokens.first_rows.mask(tokens.rows, self.precision)
            first = tokens.take_first(states[-1])
            states.append(last(first, states[-1], tokens.first_rows, tokens.rows, mask))
        else:
            states.append(last(states[-1], states[-1], tokens.rows, tokens.rows, mask))
        return self._outputs_of([tf.cast(state, "float32") for state in states], tokens, only_first)

    def attention_probabilities(self, inputs):
        """What each token attends to: float32 (batch, layers, heads, seq_length, seq_length).

        Args:
          inputs: as for a call. At padding the numbers may be anything.
        """
        tokens = RealTokens(inputs["input_mask"])
        mask = tokens.rows.mask(tokens.rows, self.precision)
        state, layers = self._embedded(inputs, tokens), []
        for block in self._blocks:
            probabilities = block.probabilities(state, state, tokens.rows, tokens.rows, mask)
            layers.append(tokens.pad_pairs(probabilities))
            state = block.attended(probabilities, state, state, tokens.rows, tokens.rows)
        return tf.cast(tf.stack(layers, axis=1), "float32")

    def _embedded(self, inputs, tokens):
        """(T, H): the embeddings of the real tokens."""
        tables = self._embeddings
        embedded = tf.gather(tables.word_embeddings.value, tokens.take(inputs["input_ids"]))
        embedded += tf.gather(tables.position_embeddings.value, tokens.positions)
        embedded += tf.gather(tables.token_type_embeddings.value, tokens.take(inputs["segment_ids"]))
        embedded = tf.cast(_normalized(embedded, tables.layer_norm), self.precision)
        return embedded if self._projection is None else _dense(embedded, self._projection)

    def _outputs_of(self, states, tokens, only_first):
        outputs = {}
        if "sequence_output" in self.outputs:
            outputs["sequence_output"] = tokens.pad(states[-1])
        if self._pooler is not None and "pooled_output" in self.outputs:
            first = states[-1] if only_first else tokens.take_first(states[-1])
            outputs["pooled_output"] = self._pooler(first[:, None])
        if "hidden_states" in self.outputs:
            outputs["hidden_states"] = tuple(tokens.pad(state) for state in states)
        return outputs

    def compute_output_spec(self, inputs, training=False, mask=None):
        batch, seq_length = inputs["input_ids"].shape
        width = self.config.hidden_size
        # A tensor each: a functional model tells them apart by identity.
        along = [
            keras.KerasTensor((batch, seq_length, width), "float32")
            for _ in range(self.config.num_hidden_layers + 2)
        ]
        specs = {
            "sequence_output": along[0],
            "pooled_output": keras.KerasTensor((batch, width), "float32"),
            "hidden_states": tuple(along[1:]),
        }
        return {name: specs[name] for name in self.outputs}


class _Block:
    """A `TransformerBlock` over real tokens."""

    def __init__(self, block, config, precision):
        attention, feed_forward = block.attention, block.feed_forward
        self._block, self._heads, self._hidden_act = block, config.num_attention_heads, config.hidden_act
        layers = {
            "query": attention.query,
            "key": attention.key,
            "value": attention.value,
            "attention_output": attention.output_dense,
            "intermediate": feed_forward.intermediate,
            "output": feed_forward.output_dense,
        }
        self._weights = {name: _weights_of(layer, precision) for name, layer in layers.items()}

    def __call__(self, asking, hidden, asking_rows, rows, mask):
        """Hidden states (A, H) of the asking tokens and (T, H) of all -> those of the asking ones, (A, H)."""
        probabilities = self.probabilities(asking, hidden, asking_rows, rows, mask)
        return self.attended(probabilities, asking, hidden, asking_rows, rows)

    def attended(self, probabilities, asking, hidden, asking_rows, rows):
        """As for a call, from the result of `probabilities`."""
        value = rows.split_heads(self._dense("value", hidden), self._heads)
        context = asking_rows.merge_heads(tf.matmul(probabilities, value), self._heads)
        attended = self._dense("attention_output", context) + asking
        attended = _normalized(attended, self._block.attention_layer_norm)
        attended = tf.cast(attended, hidden.dtype)
        widened = _activated(self._dense("intermediate", attended), self._hidden_act)
        outputs = _normalized(self._dense("output", widened) + attended, self._block.feed_forward_layer_norm)
        return tf.cast(outputs, hidden.dtype)

    def probabilities(self, asking, hidden, asking_rows, rows, mask):
        """What the asking tokens attend to: (rows, heads, their columns, columns of all)."""
        query = asking_rows.split_heads(self._dense("query", asking), self._heads)
        key = rows.split_heads(self._dense("key", hidden), self._heads)
        factor = tf.constant(1.0 / math.sqrt(hidden.shape[-1] // self._heads), hidden.dtype)
        return tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * factor + mask)

    def _dense(self, name, inputs):
        return _dense(inputs, self._weights[name])


def _dense(inputs, weights):
    kernel, bias = weights
    return tf.nn.bias_add(tf.matmul(inputs, kernel), bias)


def _weights_of(layer, precision):
    """Kernel and bias of a dense layer: in float32 its own variables, else copies.

    Variables and no constants: a server would hold constants some eight times (docs/serving.md). Where its
    environment says TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1, oneDNN arranges variables once, as it does constants.
    """
    own = layer.kernel.value, layer.bias.value
    if precision == "float32":
        return own
    return tuple(tf.Variable(tf.cast(weight, precision), trainable=False) for weight in own)


def _check(encoder, precision, outputs):
    if precision not in PRECISIONS:
        raise ValueError(f"precision={precision!r}: answers are computed in {' or '.join(PRECISIONS)}.")
    unknown = [output for output in outputs if output not in OUTPUTS]
    if unknown or not outputs:
        raise ValueError(f"outputs={list(outputs)} must be one or more of {', '.join(OUTPUTS)}.")
    if encoder.packed or encoder.policy.compute_dtype != "float32":
        raise ValueError(
            f"answers need an encoder in float32 that is not packed, received one in "
            f"{encoder.policy.name} with packed={encoder.packed}; load it with kbert.load."
        )
    if "pooled_output" in outputs and encoder.pooler is None:
        raise ValueError("this encoder has no pooler, so it has no pooled_output.")


def _normalized(x, layer_norm):
    """A layer norm in float32 whatever the dtype of `x`, (T, H).

    Written so that grappler does not see a norm: its fused one takes .001 for any epsilon in one of its
    patterns, and arranges its work anew at each call (TensorFlow 2.21).
    """
    x = tf.cast(x, "float32")
    centered = x - tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centered), -1, keepdims=True)
    scaled = centered * tf.math.rsqrt(variance + layer_norm.epsilon)
    return scaled * layer_norm.gamma.value + layer_norm.beta.value


def _activated(x, name):
    """The activation `name`, see kbert.config.ACTIVATIONS, in the form that is fused with its product."""
    if name == "gelu_erf":
        half, one, root = (tf.constant(value, x.dtype) for value in (0.5, 1.0, math.sqrt(0.5)))
        return (tf.math.erf(x * root) + one) * half * x
    if name == "gelu":
        return tf.nn.gelu(x, approximate=True)
    return {"relu": tf.nn.relu, "tanh": tf.math.tanh, "linear": tf.identity}[name](x)
