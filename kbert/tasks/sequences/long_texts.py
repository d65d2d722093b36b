"""What becomes of texts that are too long: cut, head and tail, or windows whose logits are pooled."""

import numpy as np

from kbert.features import WINDOW_FEATURE, Feature
from kbert.late_tensorflow import tf
from kbert.tasks.pages.page import NUM_TOKENS
from kbert.tasks.sequences.settings import CUT, HEAD_TAIL, LongTextSettings
from kbert.tasks.temperature import SOFTMAX
from kbert.tokenization import long_texts


class LongTexts:
    """How a task reads long texts, and puts their windows together where they have several.

    A row says which window of its text it is (`window_numbers`, a feature), so that texts are put together
    from the rows alone, in evaluations and in a SavedModel by the same function.

    Args:
      settings: a `LongTextSettings`.
      kind: see `pool_windows`.

    Attributes:
      are_cut: whether they are cut at the end.
      in_windows: whether they become several rows.
      features: the features of rows that this adds.
    """

    def __init__(self, settings: LongTextSettings, kind: str | None):
        self._settings, self._kind = settings, kind
        self.are_cut, self.in_windows = settings.long_texts == CUT, settings.in_windows
        self.features = {WINDOW_FEATURE: Feature("int32", ())} if self.in_windows else {}

    def check(self, max_seq_length: int):
        """Refuses a length without room for windows, and a step that would leave pieces out."""
        if self.in_windows:
            long_texts.require_windows(max_seq_length, self._settings.doc_stride)

    def reader(self, text_inputs):
        """The function from texts to encoder inputs, see kbert/tokenization/long_texts.py."""
        if self.are_cut:
            return text_inputs
        if self._settings.long_texts == HEAD_TAIL:
            return long_texts.HeadAndTailInputs(text_inputs)
        return long_texts.WindowInputs(text_inputs, self._settings.doc_stride)

    def owners(self, features: dict, number: int) -> np.ndarray:
        """int (rows,): the text that each row of the features of `number` texts is of."""
        if not self.in_windows:
            return np.arange(number)
        return long_texts.window_owners(features[WINDOW_FEATURE]).numpy()

    def pool(self, logits, window_numbers):
        """The logits of texts, float32 (texts, labels), from those of their windows."""
        owners = long_texts.window_owners(window_numbers)
        number = tf.reduce_max(tf.concat([owners, [-1]], axis=0)) + 1
        return pool_windows(logits, owners, number, self._settings.window_pooling, self._kind)

    def first_windows(self, values: dict) -> dict:
        """The values of the first window of each text, but the tokens of the whole text.

        They are those up to the last window and its own. Of pairs they are a few more: each window holds the
        first text, so it begins fewer tokens after the one before than is reckoned here.

        Args:
          values: name -> array of shape (rows, ...), with `window_numbers` among them.
        """
        first = np.flatnonzero(np.diff(long_texts.window_owners(values[WINDOW_FEATURE]).numpy(), prepend=-1))
        texts = {name: value[first] for name, value in values.items()}
        if NUM_TOKENS in values:
            tokens, last = values[NUM_TOKENS], np.append(first[1:], len(values[NUM_TOKENS])) - 1
            step = self._settings.doc_stride or (tokens[first] - 2) // 2
            texts[NUM_TOKENS] = tokens[last] + values[WINDOW_FEATURE][last] * step
        return texts

    def once(self, batch: dict, name: str) -> np.ndarray:
        """A label of a batch of arrays, once for each text."""
        return batch[name][batch[WINDOW_FEATURE] == 0] if self.in_windows else batch[name]


def pool_windows(logits, owners, num_texts, pooling: str, kind: str | None):
    """One row of logits for each text. The order of its windows does not matter.

    The logits of a text with one window are those of the window, whatever the pooling.

    Args:
      logits: float32 tensor of shape [windows, labels].
      owners: int32 tensor of shape [windows], the text of each, from 0 on; every text has a window.
      num_texts: int32 scalar.
      pooling: "mean" and "max" are taken for each label over all windows. "vote": each window votes for its
        most probable label (or, if `kind` is "sigmoid", for or against each label), and the mean is taken
        over the windows that voted like most. The larger mean of all windows decides where votes are equal.
      kind: "softmax", one label of several, or "sigmoid", each label for itself; only "vote" asks.

    Returns:
      float32 tensor of shape [texts, labels].
    """
    if pooling == "max":
        return tf.math.unsorted_segment_max(logits, owners, num_texts)
    if pooling == "mean":
        return _mean(logits, tf.ones_like(logits), owners, num_texts)
    agree = _agree_on_one if kind == SOFTMAX else _agree_on_each
    return _mean(logits, agree(logits, owners, num_texts), owners, num_texts)


def _mean(logits, weights, owners, num_texts):
    total = tf.math.unsorted_segment_sum(logits * weights, owners, num_texts)
    return total / tf.math.unsorted_segment_sum(weights, owners, num_texts)


def _agree_on_one(logits, owners, num_texts):
    """float32 like `logits`: 1 for windows whose most probable label is that of most windows of the text."""
    own = tf.argmax(logits, axis=1, output_type=tf.int32)
    votes = tf.math.unsorted_segment_sum(tf.one_hot(own, tf.shape(logits)[1]), owners, num_texts)
    leads = tf.equal(votes, tf.reduce_max(votes, axis=1, keepdims=True))
    means = _mean(logits, tf.ones_like(logits), owners, num_texts)
    elected = tf.argmax(tf.where(leads, means, -float("inf")), axis=1, output_type=tf.int32)
    agrees = tf.equal(own, tf.gather(elected, owners))
    return tf.cast(agrees, tf.float32)[:, tf.newaxis] * tf.ones_like(logits)


def _agree_on_each(logits, owners, num_texts):
    """float32 like `logits`: 1 where a window is for a label as most are, or against it as most are."""
    is_for = logits >= 0.0
    balance = tf.math.unsorted_segment_sum(tf.where(is_for, 1.0, -1.0), owners, num_texts)
    means = _mean(logits, tf.ones_like(logits), owners, num_texts)
    elected = tf.where(tf.equal(balance, 0.0), means >= 0.0, balance > 0.0)
    return tf.cast(tf.equal(is_for, tf.gather(elected, owners)), tf.float32)
