"""What a training step works on, and how much arithmetic that is."""

from typing import NamedTuple

import tensorflow as tf

from kbert.config import EncoderConfig
from kbert.features import PACKED_POSITIONS


class StepWork(NamedTuple):
    """The amount of data in one or several steps; except in `positions`, padding does not count.

    Fields:
      examples: examples of the batch.
      tokens: tokens without padding.
      token_pairs: sum over sequences of the squared number of tokens: the pairs that attention works on.
      predictions: masked positions that the loss counts.
      positions: all positions that are computed, including padding.
    """

    examples: float
    tokens: float
    token_pairs: float
    predictions: float
    positions: float

    @classmethod
    def for_batch(cls, batch_size: int, seq_length: int, predictions: int = 0) -> "StepWork":
        """The work of a batch without padding; `predictions` is the number for one sequence."""
        tokens = batch_size * seq_length
        return cls(batch_size, tokens, tokens * seq_length, batch_size * predictions, tokens)


def count_work(batch) -> tf.Tensor:
    """The numbers of `StepWork` for a batch.

    Args:
      batch: a dict with `input_mask`, of shape (..., seq_length), and optionally `masked_lm_weights`, and
        `packed_positions` where texts share rows.

    Returns:
      float32 tensor of shape (5,), which can be added over replicas and steps. A count is exact up to
      2^24 = 16.8 million and has seven correct digits above that.
    """
    mask = tf.cast(batch["input_mask"], tf.float32)
    lengths = tf.reduce_sum(mask, axis=-1)
    predictions = tf.constant(0.0)
    if "masked_lm_weights" in batch:
        predictions = tf.math.count_nonzero(batch["masked_lm_weights"], dtype=tf.float32)
    work = StepWork(
        examples=tf.cast(tf.shape(mask)[0], tf.float32),
        tokens=tf.reduce_sum(lengths),
        token_pairs=tf.reduce_sum(tf.square(lengths)),
        predictions=predictions,
        positions=tf.cast(tf.size(batch.get(PACKED_POSITIONS, mask)), tf.float32),
    )
    return tf.stack(work)


def training_flops(config: EncoderConfig, work: StepWork) -> float:
    """Floating-point operations of the matrix products of forward and backward pass, all weights trained.

    6 N for each token, N the weights that it meets: 4 H^2 + 2 H I in each of L layers (3 H I with a gated
    activation), and E H after tables of another width E; for each masked position H E + E V more, transform
    and token table. 12 L H for each pair of tokens of a sequence, near or far: scores, and their sum of
    values. Padding, activations computed again, pooler and labels are not counted.

    Examples:
      >>> work = StepWork.for_batch(batch_size=256, seq_length=128, predictions=20)
      >>> f"{training_flops(EncoderConfig(), work) / 1e12:.1f} TFLOP a step of BERT-base"
      '17.9 TFLOP a step of BERT-base'

    Reference: arXiv 2204.02311, appendix B: 6 N + 12 L H Q T for each token.
    """
    hidden, layers, width = config.hidden_size, config.num_hidden_layers, config.embedding_width
    layer_weights = layers * config.block_weights
    token_products = work.tokens * (layer_weights + (config.embedding_size or 0) * hidden)
    prediction_products = work.predictions * width * (hidden + config.vocab_size)
    return 6 * (token_products + prediction_products) + 12 * layers * hidden * work.token_pairs
