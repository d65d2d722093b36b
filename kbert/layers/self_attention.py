import math
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from kbert.kernels.attention import attention_softmax, mask_adder, merge_heads, split_heads
from kbert.kernels.dropout import dropout
from kbert.kernels.rotary import angles, rotary
from kbert.layers.dropout import Dropout
from kbert.layers.encoder_layer import EncoderLayer
from kbert.layers.flat_dense import AnsweringDense, flat_matmul
from kbert.layers.local_blocks import LocalBlocks, any_within
from kbert.layers.low_rank_dense import lora_config, lora_dict

_QUERIES_AT_ONCE = 256  # where texts are long


@dataclass(frozen=True)
class Rows:
    """Where the tokens of a block stand: texts padded to one length, or rows that hold several texts.

    Args:
      input_mask: int tensor of shape `(rows, columns)`, see `mask_adder`.
      packed: whether rows hold several texts.
      position_bias: float32 tensor of shape `(heads, columns, columns)` that is added to the scores, see
        `PositionBias`; None for nothing.
    """

    input_mask: Any
    packed: bool = False
    position_bias: Any = None

    def queries(self, hidden):
        """The hidden states that the block computes anew: those of all tokens."""
        return hidden


@keras.saving.register_keras_serializable(package="kbert")
class SelfAttention(EncoderLayer):
    """Multi-head scaled dot-product self-attention in the parts that `transformer_block` is made of.

    Query, key and value have one kernel each, as in every published BERT, and are computed as one product.

    Letters: T tokens in rows R of columns C, H width, N heads, D head size.

    Args:
      config: an `EncoderConfig`.
      index: of the layer, which says its window and the base of its rotary positions.
      lora: a `LoraConfig`, see `LowRankDense`; None for no adapters.

    Reference: google-research/bert, modeling.py, `attention_layer`.
    """

    def __init__(self, config, index, lora=None, **kwargs):
        super().__init__(config, **kwargs)
        self.index = index
        self.lora = lora_config(lora)
        self.hidden_size, self.num_heads = self.config.hidden_size, self.config.num_attention_heads
        self.head_size = self.hidden_size // self.num_heads
        self.scale = 1.0 / math.sqrt(self.head_size)
        self.dropout = self.config.attention_probs_dropout_prob
        self.rope_theta, self.window = self.config.rope_theta(index), self.config.window(index)

    def build(self, hidden_states_shape):
        def dense(name, **kwargs):
            kwargs = {"target": name, "lora": self.lora, "use_bias": self.config.attention_bias} | kwargs
            return self.make_dense(name, self.hidden_size, self.hidden_size, **kwargs)

        self.query, self.key, self.value = dense("query"), dense("key"), dense("value")
        self.output_dense = dense(
            "output",
            target="attention_output",
            initializer_range=self.config.output_initializer_range,
        )
        self.dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def heads(self, hidden, rows, seed=None):
        """Hidden states (T, H) -> query, key and value, (R, N, C, D) each.

        Args:
          hidden: tensor of shape `(T, H)`.
          rows: a `Rows`.
          seed: of the adapters' dropout, uint32 of shape (2,); None outside of training.
        """
        projections = (self.query, self.key, self.value)
        kernel = ops.concatenate([ops.cast(p.kernel, self.compute_dtype) for p in projections], axis=1)
        biases = [ops.convert_to_tensor(p.bias_or_zeros) for p in projections]  # float32
        product = flat_matmul(hidden, kernel)  # (T, 3H)
        added = [p.adaptation(hidden, seed) for p in projections]
        if any(adaptation is not None for adaptation in added):
            zeros = ops.zeros_like(hidden)
            product += ops.concatenate([zeros if a is None else a for a in added], axis=-1)

        product = self._split(product, ops.concatenate(biases, axis=0), rows, seed is not None)
        if self.rope_theta is None:
            return product
        query, key, value = product
        at = angles(ops.arange(ops.shape(query)[2]), self.head_size, self.rope_theta)  # (C, D / 2)
        return *(rotary(turning, at, seed is not None) for turning in (query, key)), value

    def _split(self, product, bias, rows, training):
        _, columns = ops.shape(rows.input_mask)
        if training:
            product = ops.reshape(product, (-1, columns, 3 * self.hidden_size))
            return split_heads(product, bias, self.num_heads)
        joined = product + ops.cast(bias, self.compute_dtype)
        joined = ops.reshape(joined, (-1, columns, 3, self.num_heads, self.head_size))
        return tuple(ops.unstack(ops.transpose(joined, (2, 0, 3, 1, 4)), 3))

    def attend(self, query, key, value, rows, seed=None, with_probabilities=False):
        """What each token gathers of the tokens that it attends to.

        Args:
          query, key, value: tensors of shape `(R, N, C, D)`.
          rows: a `Rows`.
          seed: of the dropout, uint32 of shape (2,); None outside of training.
          with_probabilities: also give the probabilities. In training they cost the fast kernel.

        Returns:
          (tensor `(T, H)`, outside of training `(R, C, H)`; the probabilities before dropout, float32
          `(R, N, C, C)`, or None). No token attends to padding; a row of nothing else gives finite numbers.
        """
        if seed is not None and not with_probabilities:
            return self._attend_in_training(query, key, value, rows, seed), None

        # Scores in float32 whatever the policy: a sum over a long row loses too much in 16 bits.
        scores = ops.cast(ops.einsum("bnfd,bntd->bnft", query * self.scale, key), "float32")
        if rows.position_bias is not None:
            scores += rows.position_bias
        adder = mask_adder(rows.input_mask, rows.packed, self.window)
        probabilities = ops.softmax(scores + adder, axis=-1)
        kept = ops.cast(probabilities, self.compute_dtype)
        if seed is not None and self.dropout:
            kept = dropout(kept, seed, self.dropout)
        context = ops.einsum("bnft,bntd->bnfd", kept, value)
        context = ops.transpose(context, (0, 2, 1, 3))  # (R, C, N, D)
        tokens = (-1, ops.shape(rows.input_mask)[1]) if seed is None else (-1,)
        return self._attended(ops.reshape(context, (*tokens, self.hidden_size)), rows), probabilities

    def _attend_in_training(self, query, key, value, rows, seed):
        """With kernels; local attention block by block."""
        blocks, mask, own_mask, formula = None, rows.input_mask, rows.input_mask, "bnfd,bntd->bnft"
        if self.window is not None:
            blocks, formula = LocalBlocks(ops.shape(query)[2], self.window), "bnkfd,bnktd->bnkft"
            query, key, value = blocks.split(query), blocks.beside(key), blocks.beside(value)
            mask, own_mask = (way(mask[..., None])[..., 0] for way in (blocks.beside, blocks.split))
        kept = attention_softmax(
            ops.einsum(formula, query, key),
            mask,
            seed,
            self.scale,
            self.dropout,
            rows.packed,
            self.window,
            own_mask=own_mask,
            offset=blocks.offset if blocks else 0,
            position_bias=rows.position_bias,
        )
        context = ops.matmul(kept, value)
        context = blocks.join(context) if blocks else context
        return self._attended(ops.reshape(merge_heads(context, self.num_heads), (-1, self.hidden_size)), rows)

    def _attended(self, context, rows):
        """Zeros where a token attends to nothing, as torch's scaled_dot_product_attention gives.

        Of local attention that is a token further than the window from all that is attended to, such as a
        mask token that fills up a query. Without this it would gather padding: as many numbers as there are.
        """
        if self.window is None:
            return context
        attends = ops.cast(any_within(rows.input_mask > 0, self.window), context.dtype)
        return context * ops.reshape(attends, (*ops.shape(context)[:-1], 1))

    def get_config(self):
        return super().get_config() | {"index": self.index, "lora": lora_dict(self.lora)}


class AnsweringAttention:
    """A `SelfAttention` for answers, over `SharedRows`.

    Args:
      layer: the built `SelfAttention`.
      precision: see `AnsweringDense`.
    """

    def __init__(self, layer: SelfAttention, precision: str):
        parts = (layer.query, layer.key, layer.value, layer.output_dense)
        self._query, self._key, self._value, self.output_dense = (
            AnsweringDense(part, precision) for part in parts
        )
        self._num_heads, self._head_size = layer.num_heads, layer.head_size
        self._scale, self._rope_theta, self.window = layer.scale, layer.rope_theta, layer.window

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
        heads = tf.reshape(x, [-1, self._num_heads, self._head_size])
        at = angles(positions, self._head_size, self._rope_theta)[:, None]
        return tf.reshape(rotary(heads, at, training=False), [-1, self._num_heads * self._head_size])

    def attend(self, query, key, value, rows, seed=None, with_probabilities=False):
        """What each token gathers, as `SelfAttention.attend` gives it, but without probabilities."""
        query *= tf.constant(self._scale, key.dtype)

        def by_rows():
            probabilities = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) + rows.mask)
            return rows.query_rows.merge_heads(tf.matmul(probabilities, value), self._num_heads)

        if rows.examples is None:
            return by_rows(), None
        return tf.cond(rows.is_long, lambda: _by_example(query, key, value, rows.examples), by_rows), None


def _by_example(query, key, value, examples):
    """Attention within each example, some queries at a time: without masks, and scores stay in the cache.

    Args:
      query, key, value: tensors of shape `(R, N, C, D)`, queries scaled.
      examples: see `SharedRows`.

    Returns:
      tensor `(T, N D)`
    """
    heads, size = query.shape[1], query.shape[3]
    blocks = (examples[:, 2] - examples[:, 1] + _QUERIES_AT_ONCE - 1) // _QUERIES_AT_ONCE
    before = tf.cumsum(blocks, exclusive=True)

    def attend(number, contexts):
        row, first, end = tf.unstack(examples[number])
        queries, keys, values = (part[row, :, first:end] for part in (query, key, value))

        def attend_some(block, contexts):
            some = queries[:, block * _QUERIES_AT_ONCE : (block + 1) * _QUERIES_AT_ONCE]
            gathered = tf.matmul(tf.nn.softmax(tf.matmul(some, keys, transpose_b=True)), values)
            return contexts.write(before[number] + block, tf.transpose(gathered, (1, 0, 2)))

        return _in_turn(attend_some, blocks[number], contexts)

    contexts = tf.TensorArray(
        query.dtype, tf.reduce_sum(blocks), element_shape=(None, heads, size), infer_shape=False
    )
    return tf.reshape(_in_turn(attend, tf.size(blocks), contexts).concat(), [-1, heads * size])


def _in_turn(body, times, contexts):
    """The contexts when `body` of a number and the contexts has seen all numbers, one after the other."""
    return tf.while_loop(
        lambda number, _: number < times,
        lambda number, contexts: (number + 1, body(number, contexts)),
        (0, contexts),
        parallel_iterations=1,
    )[1]
