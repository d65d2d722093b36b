"""Random windows of one question, for tests."""

import numpy as np

from kbert.tasks.question_answering.best_spans import Rows


def random_rows(seed, num_windows=3, length=24, step=8, values=None) -> Rows:
    """Windows of one context behind a question, with padding at the end of the last; random logits.

    Args:
      seed: of the logits and lengths.
      num_windows: how many.
      length: of a row.
      step: pieces from window to window.
      values: the logits are drawn from these, so that many are equal; None for normal numbers.
    """
    rng = np.random.default_rng(seed)
    shape = (num_windows, length)
    logits = [
        (rng.normal(size=shape) * 4 if values is None else rng.choice(values, size=shape)).astype(np.float32)
        for _ in range(2)
    ]
    head, room = 4, length - 5
    lengths = [room] * (num_windows - 1) + [int(rng.integers(0 if num_windows == 1 else 1, room + 1))]
    offsets = np.full((*shape, 2), -1, np.int32)
    max_context = np.zeros(shape, np.int32)
    for window in range(num_windows):
        pieces = window * step + np.arange(lengths[window])
        where = slice(head, head + lengths[window])
        # A tenth are blanks alone, as RoBERTa and XLM-R have them.
        sizes = np.where(np.random.default_rng(pieces).random(lengths[window]) < 0.1, 0, 2)
        offsets[window, where] = np.stack([3 * pieces, 3 * pieces + sizes], axis=-1)
        max_context[window, where] = rng.random(lengths[window]) < 0.7
    return Rows(*logits, offsets, max_context)
