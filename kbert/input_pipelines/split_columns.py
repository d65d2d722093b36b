"""Columns that say to which split a row belongs, as MASSIVE's `partition` and STS-B's `split`."""

import collections
from pathlib import Path

from kbert.cli.warn_once import warn_once

_NAMES = {"split", "data_split", "dataset_split", "partition", "subset", "set", "semeval_set", "fold"}
_TRAINING = {"train", "training"}
_HELD_OUT = {"dev", "test", "testing", "trial", "val", "valid", "validation", "eval"}
_SPLITS = _TRAINING | _HELD_OUT


def split_columns(names) -> list[str]:
    """Those among the names of columns that a split usually has."""
    return [name for name in names if name.strip().lower() in _NAMES]


class SplitCounter:
    """Counts the splits of the rows that are read, where a column that nobody reads says them.

    Args:
      path: the file, for the message.
      read: columns that have a meaning of their own.
    """

    def __init__(self, path: str | Path, read):
        self._path, self._read = path, {*read}
        self._columns: list[str] | None = None
        self._counts = collections.Counter()

    def count(self, record: dict):
        """Counts a row, with its cells by the names of columns."""
        if self._columns is None:
            self._columns = split_columns(record.keys() - self._read)
        for column in self._columns:
            split = str(record.get(column)).strip()
            if split.lower() in _SPLITS:
                self._counts[column, split] += 1

    def say(self):
        """Warns where rows to train on and rows of another split were counted."""
        for column in self._columns or ():
            splits = {split: number for (name, split), number in self._counts.items() if name == column}
            known = {split.lower() for split in splits}
            if known & _TRAINING and known & _HELD_OUT:
                shown = ", ".join(f"{split} ({number:,})" for split, number in splits.items())
                warn_once(
                    f"{self._path}: its column {column!r} says {shown}, and all of these rows are read; "
                    "write a file for each"
                )
