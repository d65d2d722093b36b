"""Rows of a labelled file that are there twice, and texts that stand under several labels."""

from collections.abc import Sequence

import numpy as np

_SHOWN = 60  # characters of a text


def repetitions(examples: Sequence[tuple]) -> tuple[str | None, str | None]:
    """Sentences about a training file, before the training: (about repeated rows, about contradicting ones).

    Args:
      examples: tuples whose last field is the label. Different numbers for the same texts are no
        contradiction, because people who rate texts differ.

    Returns:
      A sentence each, or None where there is nothing of the kind.
    """
    texts = np.fromiter((hash(tuple(example)[:-1]) for example in examples), np.int64, len(examples))
    rows = np.fromiter((hash(tuple(example)) for example in examples), np.int64, len(examples))
    _, first = np.unique(rows, return_index=True)
    repeated = len(examples) - len(first)
    duplicates = f"{repeated:,} of {len(examples):,} rows repeat an earlier one" if repeated else None
    # Of equal rows only the first counts here: texts that are left twice have several labels.
    different, counts = np.unique(texts[first], return_counts=True)
    several = different[counts > 1]
    if not len(several) or isinstance(examples[0][-1], float | None):
        return duplicates, None
    indices = np.flatnonzero(texts == several[0]).tolist()
    labels = sorted({repr(examples[index][-1]) for index in indices})
    text = str(next(iter(examples[indices[0]])))[:_SHOWN]
    return duplicates, (
        f"{len(several):,} text(s) have several labels, as {text!r} has {' and '.join(labels[:3])}; "
        "if these are slips, mend them: the model cannot learn both"
    )
