"""The best answer of each text, in the graph: what `best_spans` finds in NumPy, for a SavedModel."""

from typing import NamedTuple

from kbert.late_tensorflow import tf
from kbert.tasks.question_answering.best_spans import NO_SPAN
from kbert.tasks.question_answering.windows import ContextWindows


class BestSpans(NamedTuple):
    """The best span of each question.

    Args:
      starts, ends: int32 tensors of shape [batch], from which character of the context up to which; 0 where
        there is no span.
      scores: float32 tensor of shape [batch], the sum of its logits; `NO_SPAN` where there is none.
      null_odds: float32 tensor of shape [batch], the score of no answer minus this one's.
    """

    starts: "tf.Tensor"
    ends: "tf.Tensor"
    scores: "tf.Tensor"
    null_odds: "tf.Tensor"


def best_spans(outputs, windows: ContextWindows, batch_size, max_answer_length: int) -> BestSpans:
    """The best span over all windows of each question.

    Args:
      outputs: `start_logits` and `end_logits`, float32 tensors of shape [windows, length].
      windows: the `ContextWindows`.
      batch_size: int32 scalar, how many questions there are.
      max_answer_length: the most pieces of an answer.
    """
    width = tf.minimum(max_answer_length, tf.shape(outputs["start_logits"])[1])  # K, at most L
    band = _band(outputs, windows, width)  # (W, L * K)
    best = tf.reduce_max(band, axis=1)
    # Of equal windows the first, and of equal spans of a window too.
    best_scores = tf.math.unsorted_segment_max(best, windows.owners, batch_size)  # (B,)
    is_best = tf.equal(best, tf.gather(best_scores, windows.owners))
    candidates = tf.where(is_best, tf.range(tf.size(best)), tf.int32.max)
    window = tf.math.unsorted_segment_min(candidates, windows.owners, batch_size)  # (B,)
    index = tf.argmax(tf.gather(band, window), axis=1, output_type=tf.int32)
    start, further = index // width, index % width

    has_span = best_scores > NO_SPAN / 2
    no_answer = outputs["start_logits"][:, 0] + outputs["end_logits"][:, 0]
    no_answer = tf.math.unsorted_segment_min(no_answer, windows.owners, batch_size)
    scores = tf.where(has_span, best_scores, NO_SPAN)

    def character(position, side):
        position = tf.where(has_span, position, 0)  # where nothing is found, it may lie beyond the window
        offsets = tf.gather_nd(windows.offsets, tf.stack([window, position], axis=1))[:, side]
        return tf.where(has_span, offsets, 0)

    return BestSpans(character(start, 0), character(start + further, 1), scores, no_answer - scores)


def _band(outputs, windows, width):
    """Scores by start and how many pieces further the end is: float32 [windows, length * width]."""
    has_characters = windows.offsets[..., 1] > windows.offsets[..., 0]
    starts = tf.where(windows.max_context & has_characters, outputs["start_logits"], NO_SPAN)
    ends = tf.where(has_characters, outputs["end_logits"], NO_SPAN)
    ends = tf.pad(ends, [[0, 0], [0, width - 1]], constant_values=NO_SPAN)
    length = tf.shape(starts)[1]
    positions = tf.range(length)[:, tf.newaxis] + tf.range(width)  # (L, K)
    band = starts[..., tf.newaxis] + tf.gather(ends, positions, axis=1)
    return tf.reshape(band, [tf.shape(starts)[0], length * width])


def slice_contexts(contexts, starts, ends):
    """The characters of each context from `starts` up to `ends`: string tensor of shape [batch].

    Offsets count the characters of UTF-8 that is whole, so broken bytes are left out first.
    """
    contexts = tf.strings.unicode_transcode(contexts, "UTF-8", "UTF-8", errors="ignore")
    return tf.strings.substr(contexts, starts, ends - starts, unit="UTF8_CHAR")
