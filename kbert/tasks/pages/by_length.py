"""Scores by the length of the input."""

from collections.abc import Callable

import numpy as np

from kbert.tasks.pages.content import Bar, Bars, Section


def by_length(
    lengths, scores, unit: str, metric: str, shown: Callable | None = None, subject: str = "an example"
) -> Section:
    """The mean score of the examples of like length.

    A bucket reaches from a power of two, exclusive, to the next, inclusive: 9 to 16, 17 to 32, and so on.

    Args:
      lengths: int array of shape (examples,).
      scores: float array of shape (examples,): 0 or more. Bars of numbers beyond 1 are drawn in proportion.
      unit: of one length, for example "token".
      metric: what the score is.
      shown: function from a mean to its text; a percentage by default.
      subject: what has the length.
    """
    lengths, scores = np.asarray(lengths), np.asarray(scores, np.float64)
    buckets = np.ceil(np.log2(np.maximum(lengths, 1))).astype(int)
    means = []
    for bucket in np.unique(buckets):
        inside = buckets == bucket
        means.append((int(bucket), int(inside.sum()), float(scores[inside].mean())))
    top = max(1.0, *(mean for _, _, mean in means))
    shown = shown or (lambda mean: f"{100 * mean:.1f}%")
    bars = [
        Bar(f"{_lengths(bucket, unit)}, {_plural(count, 'example')}", mean / top, shown(mean))
        for bucket, count, mean in means
    ]
    return Section("By length", f"{metric}, by how many {unit}s {subject} has.", Bars(bars))


def _lengths(bucket, unit):
    last, first = 2**bucket, 2**bucket // 2 + 1
    return _plural(last, unit) if bucket < 2 else f"{first:,} to {last:,} {unit}s"


def _plural(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
