"""The encoder for answering: a graph of few and large ops over real tokens."""

import dataclasses
import math

import keras
import tensorflow as tf

from kbert.answering.real_tokens import RealTokens
from kbert.encoder import BertEncoder
from kbert.kernels.rotary import angles, turned
from kbert.layers.layer_norm import PreLayerNorm, Residual
from kbert.layers.local_blocks import LocalBlocks
from kbert.layers.transformer_block import transformer_block

OUTPUTS = ("sequence_output", "pooled_output", "hidden_states")
PRECISIONS = ("float32", "bfloat16")


class AnsweringEncoder(keras.layers.Layer):
    """What a `BertEncoder` computes without training, faster.

    Three things differ, none of which changes a float32 answer beyond rounding:

    - Dense layers work on real tokens, and in the attention short texts share rows as wide as the longest.
      So one long text does not make 31 short ones as expensive as itself.
    - The ops stand as TensorFlow's grappler fuses them: product, bias and GELU; product, bias and residual;
      scores and mask are one op each.
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
        self._projection = None if projection is None else _Dense(projection, precision)
        self._blocks = [_Block(block, precision) for block in encoder.blocks]

    def call(self, inputs, training=False, mask=None):
        del mask  # a functional model hands it to every model in it
        if training:
            raise ValueError("an AnsweringEncoder is not trained; train the model that it was made of.")
        tokens = RealTokens(inputs["input_mask"])
        first_alone = self.outputs == ("pooled_output",) and self.config.classifier_pooling == "cls"
        states, rows = [self._embedded(inputs, tokens)], self._rows(tokens)
        for block in self._blocks[:-1]:
            states.append(transformer_block(block, states[-1], rows)[0])
        rows = self._rows(tokens, first_alone=True) if first_alone else rows
        states.append(transformer_block(self._blocks[-1], states[-1], rows)[0])
        states = [tf.cast(state, "float32") for state in states]
        return self._named_outputs(states, tokens, inputs["input_mask"], first_alone)

    def attention_probabilities(self, inputs):
        """What each token attends to: float32 (batch, layers, heads, seq_length, seq_length).

        Args:
          inputs: as for a call. At padding the numbers may be anything.
        """
        tokens = RealTokens(inputs["input_mask"])
        state, rows, layers = self._embedded(inputs, tokens), self._rows(tokens), []
        for block in self._blocks:
            state, probabilities = transformer_block(block, state, rows, with_probabilities=True)
            layers.append(tokens.pad_pairs(probabilities))
        return tf.cast(tf.stack(layers, axis=1), "float32")

    def _embedded(self, inputs, tokens):
        """(T, H): the embeddings of the real tokens."""
        tables = self._embeddings
        embedded = tf.gather(tables.word_embeddings.value, tokens.take(inputs["input_ids"]))
        if self.config.num_position_rows:
            embedded += tf.gather(tables.position_embeddings.value, tokens.positions)
        if self.config.type_vocab_size > 1:
            embedded += tf.gather(tables.token_type_embeddings.value, tokens.take(inputs["segment_ids"]))
        elif self.config.type_vocab_size:
            embedded += tables.token_type_embeddings.value
        embedded = tf.cast(_LayerNorm(tables.layer_norm)(embedded), self.precision)
        return embedded if self._projection is None else self._projection(embedded)

    def _rows(self, tokens, first_alone=False):
        """The rows of all tokens, whose mask has what positions add to the scores."""
        rows, bias = tokens.rows(self.precision, first_alone), self._embeddings.position_bias
        if bias is not None:
            added = bias.between(rows.distances)  # (R, N, from, to)
            rows = dataclasses.replace(rows, mask=rows.mask + tf.cast(added, self.precision))
        return rows

    def _named_outputs(self, states, tokens, input_mask, first_alone):
        outputs = {}
        if "sequence_output" in self.outputs:
            outputs["sequence_output"] = tokens.pad(states[-1])
        if self._pooler is not None and "pooled_output" in self.outputs:
            first = states[-1] if first_alone else tokens.take_first(states[-1])
            is_mean = self.config.classifier_pooling == "mean"
            outputs["pooled_output"] = self._pooler(
                tokens.pad(states[-1]) if is_mean else first[:, None], input_mask
            )
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
    """The parts of a `TransformerBlock`, computed for answers."""

    def __init__(self, block, precision):
        self.attention = _Attention(block.attention, precision)
        self.attention_layer_norm = _twin(block.attention_layer_norm)
        self.feed_forward = _FeedForward(block.feed_forward, precision)
        self.feed_forward_layer_norm = _twin(block.feed_forward_layer_norm)
        self.final_layer_norm = block.final_layer_norm and _twin(block.final_layer_norm)


class _Attention:
    """A `SelfAttention` over `SharedRows`. Letters: R rows, C columns, N heads, D head size."""

    def __init__(self, attention, precision):
        layers = (attention.query, attention.key, attention.value, attention.output_dense)
        self._query, self._key, self._value, self.output_dense = (
            _Dense(layer, precision) for layer in layers
        )
        self._num_heads = attention.num_heads
        self._rope_theta, self._window = attention.rope_theta, attention.window

    def heads(self, hidden, rows, seed=None):
        """Hidden states of all tokens -> (R, N, C, D) each: query, key and value."""
        query = self._turned(self._query(rows.queries(hidden)), rows.queries(rows.positions))
        key = self._turned(self._key(hidden), rows.positions)
        return (
            rows.query_rows.split_heads(query, self._num_heads),
            rows.key_rows.split_heads(key, self._num_heads),
            rows.key_rows.split_heads(self._value(hidden), self._num_heads),
        )

    def _turned(self, x, positions):
        """(T, N D) with rotary positions, int32 (T,)."""
        if self._rope_theta is None:
            return x
        heads = tf.reshape(tf.cast(x, "float32"), [-1, self._num_heads, x.shape[-1] // self._num_heads])
        at = angles(positions, heads.shape[-1], self._rope_theta)[:, None]
        return tf.cast(tf.reshape(turned(heads, tf.cos(at), tf.sin(at)), [-1, x.shape[-1]]), x.dtype)

    def attend(self, query, key, value, rows, seed=None, with_probabilities=False):
        """What each token gathers, and the probabilities: (R, N, its columns, columns of all).

        With local attention it is computed block by block, then without probabilities, if all tokens attend.
        """
        factor = tf.constant(1.0 / math.sqrt(key.shape[-1]), key.dtype)
        blocks, mask = None, rows.mask
        if self._window is not None and not with_probabilities and rows.query_rows is rows.key_rows:
            blocks = LocalBlocks(tf.shape(query)[2], self._window)
            query, key, value = blocks.split(query), blocks.beside(key), blocks.beside(value)
            mask = rows.mask_of_blocks(blocks, self._window)
        elif self._window is not None:
            mask = rows.local_mask(self._window)
        probabilities = tf.nn.softmax(tf.matmul(query * factor, key, transpose_b=True) + mask)
        context = tf.matmul(probabilities, value)
        context = context if blocks is None else blocks.join(context)
        return rows.query_rows.merge_heads(context, self._num_heads), probabilities


class _FeedForward:
    """A `FeedForward`."""

    def __init__(self, feed_forward, precision):
        self._intermediate = _Dense(feed_forward.intermediate, precision)
        self.output_dense = _Dense(feed_forward.output_dense, precision)

    def __call__(self, hidden, seed=None):
        return self._intermediate(hidden)


class _LayerNorm:
    """A `LayerNorm`, in float32 whatever the dtype of its input.

    Written so that grappler does not see a norm: its fused one takes .001 for any epsilon in one of its
    patterns, and arranges its work anew at each call (TensorFlow 2.21).
    """

    def __init__(self, layer_norm):
        self._epsilon = layer_norm.epsilon
        self._gamma = layer_norm.gamma.value
        self._beta = None if layer_norm.beta is None else layer_norm.beta.value

    def __call__(self, x):
        x = tf.cast(x, "float32")
        centered = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), -1, keepdims=True)
        normed = centered * tf.math.rsqrt(variance + self._epsilon) * self._gamma
        return normed if self._beta is None else normed + self._beta

    def before(self, hidden, seed=None):
        return hidden

    def after(self, residual, dense, inputs, seed=None):
        return tf.cast(self(dense(inputs) + residual), inputs.dtype)


class _Residual:
    """A `Residual`."""

    def before(self, hidden, seed=None):
        return hidden

    def after(self, residual, dense, inputs, seed=None):
        return dense(inputs) + residual


class _PreLayerNorm(_Residual):
    """A `PreLayerNorm`."""

    def __init__(self, layer_norm):
        self._norm = _LayerNorm(layer_norm)

    def before(self, hidden, seed=None):
        return tf.cast(self._norm(hidden), hidden.dtype)


def _twin(layer):
    """What computes a block's norm."""
    if isinstance(layer, Residual):
        return _Residual()
    return _PreLayerNorm(layer) if isinstance(layer, PreLayerNorm) else _LayerNorm(layer)


class _Dense:
    """A `FlatDense`: in float32 with its own variables, else with transposed copies.

    oneDNN arranges a kernel in bfloat16 at each call, and a transposed one in two thirds of the time.

    Variables and no constants: a server would hold constants some eight times (docs/notes/speed.md). Where
    its environment says TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1, oneDNN arranges variables once, as it does
    constants.
    """

    def __init__(self, layer, precision):
        weights = [layer.kernel.value] if layer.bias is None else [layer.kernel.value, layer.bias.value]
        self._transposed = precision != "float32"
        if self._transposed:
            copies = [tf.cast(weight, precision) for weight in (tf.transpose(weights[0]), *weights[1:])]
            weights = [tf.Variable(copy, trainable=False) for copy in copies]
        self._kernel, *self._bias = weights
        self._activation, self._is_gated = layer.hidden_act, layer.is_gated_act

    def __call__(self, inputs):
        outputs = tf.matmul(inputs, self._kernel, transpose_b=self._transposed)
        if self._bias:
            outputs = tf.nn.bias_add(outputs, self._bias[0])
        if self._is_gated:
            outputs, gate = tf.split(outputs, 2, axis=-1)
            return _activated(outputs, self._activation) * gate
        return _activated(outputs, self._activation) if self._activation else outputs


def _check(encoder, precision, outputs):
    if precision not in PRECISIONS:
        raise ValueError(f"precision={precision!r}: predictions are computed in {' or '.join(PRECISIONS)}.")
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


def _activated(x, name):
    """The activation `name`, see kbert.config.ACTIVATIONS, in the form that is fused with its product."""
    if name == "gelu_erf":
        half, unit, root = (tf.constant(value, x.dtype) for value in (0.5, 1.0, math.sqrt(0.5)))
        return (tf.math.erf(x * root) + unit) * half * x
    if name == "gelu":
        return tf.nn.gelu(x, approximate=True)
    return {"relu": tf.nn.relu, "tanh": tf.math.tanh, "linear": tf.identity}[name](x)
