"""The best spans of the windows of one question, in NumPy; `graph_answers` finds the best one in a graph.

A span is a start and an end in the same window, end at or after start, of at most `max_answer_length` pieces,
both pieces of the context, and the start where the window has the most context. A piece that is blanks alone,
as RoBERTa and XLM-R have them, has no characters and is neither: the answer would be "". Its score is the sum
of the start's and the end's logit. Of equals the first comes first: by window, start and end.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

# The score of what is no span, and of the answer to a context without any: beyond all logits, and small
# enough that twice as much is a finite number.
NO_SPAN = -1e9
_FIRST_SPANS = 64


class Rows(NamedTuple):
    """What a model said of the windows of one question.

    Args:
      start_logits, end_logits: float32 of shape [windows, length].
      offsets: int32 of shape [windows, length, 2], see `ContextWindows`.
      max_context: int32 of shape [windows, length], see `ContextWindows`.
    """

    start_logits: np.ndarray
    end_logits: np.ndarray
    offsets: np.ndarray
    max_context: np.ndarray


class Span(NamedTuple):
    """A candidate: its window, its first and last position in it, and its logits."""

    window: int
    start: int
    end: int
    start_logit: float
    end_logit: float


def ranked_spans(rows: Rows, max_answer_length: int) -> Iterator[Span]:
    """Yields all spans, the best first."""
    scores = _band(rows, max_answer_length)
    flat = scores.ravel()
    length, width = scores.shape[1:]
    for index in _descending(flat):
        if flat[index] <= NO_SPAN / 2:
            return
        window, rest = divmod(int(index), length * width)
        start, further = divmod(rest, width)
        yield _span(rows, window, start, start + further)


def _span(rows, window, start, end):
    return Span(
        window, start, end, float(rows.start_logits[window, start]), float(rows.end_logits[window, end])
    )


def _band(rows, max_answer_length):
    """Scores by window, start and how many pieces further the end is: float32 [windows, length, width]."""
    no_span = np.float32(NO_SPAN)
    length = rows.start_logits.shape[1]
    width = min(max_answer_length, length)
    has_characters = rows.offsets[..., 1] > rows.offsets[..., 0]
    starts = np.where((rows.max_context > 0) & has_characters, rows.start_logits, no_span)
    ends = np.where(has_characters, rows.end_logits, no_span)
    ends = np.pad(ends, [(0, 0), (0, width - 1)], constant_values=no_span)
    return starts[..., np.newaxis] + np.lib.stride_tricks.sliding_window_view(ends, width, axis=1)


def _descending(values):
    """Indices by falling value, equals by rising index. Few are asked for, so few are sorted at first."""
    if len(values) > 4 * _FIRST_SPANS:
        least = np.partition(values, -_FIRST_SPANS)[-_FIRST_SPANS]
        first = np.flatnonzero(values > least)
        yield from first[np.argsort(-values[first], kind="stable")]
        values = np.where(values > least, -np.inf, values)
        yield from np.argsort(-values, kind="stable")[: len(values) - len(first)]
    else:
        yield from np.argsort(-values, kind="stable")


def null_score(rows: Rows) -> tuple[np.float32, int]:
    """(the score of no answer, its window): the least sum of the [CLS] logits over all windows.

    The least, because a window without the answer has a high one. As in run_squad.py, `score_null`.
    """
    scores = rows.start_logits[:, 0] + rows.end_logits[:, 0]
    window = int(scores.argmin())
    return scores[window], window
