"""Sampled examples on disk, sorted into buckets: the first half of a shuffle with little memory.

Every example goes to a bucket drawn at random. Later all examples of a bucket are read from all files, put in
random order and written to one part of a shard. Together this is a uniform shuffle of the whole corpus.
"""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kbert.files.whole_file import whole_file
from tfrecords_tools.corpus.tokenized_corpus import take_stretches

_LENGTH = np.dtype("<u2")
_LABEL = np.dtype("u1")
_COUNT = np.dtype("<i8")


class Examples(NamedTuple):
    """Texts before layout and masking.

    Args:
      pieces: integer array of shape [all pieces], first and second text of every example in turn.
      first_lengths: integer array of shape [examples].
      second_lengths: integer array of shape [examples]; 0 for single texts.
      labels: integer array of shape [examples].
    """

    pieces: np.ndarray
    first_lengths: np.ndarray
    second_lengths: np.ndarray
    labels: np.ndarray

    def __len__(self):
        return len(self.labels)

    def take(self, rows: np.ndarray) -> "Examples":
        """The examples with these numbers, in their order."""
        lengths = self.first_lengths.astype(np.int64) + self.second_lengths
        starts = np.cumsum(lengths) - lengths
        pieces = take_stretches(self.pieces, starts[rows], lengths[rows])
        return Examples(pieces, self.first_lengths[rows], self.second_lengths[rows], self.labels[rows])

    @classmethod
    def concatenate(cls, parts: list["Examples"]) -> "Examples":
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def write_buckets(path: str | Path, examples: Examples, num_buckets: int, generator: np.random.Generator):
    """Distributes the examples at random over buckets of equal size (to within one example), and writes them.

    The file begins with an int64 array of shape [buckets + 1, 2], the number of examples and of pieces before
    each bucket and in all; then the buckets follow. So a short read finds a bucket: a large corpus has
    thousands of buckets and of files. It is written under a temporary name first.

    Args:
      path: the file.
      examples: the `Examples`; pieces of uint16 or int32.
      num_buckets: how many buckets.
      generator: draws the buckets.
    """
    # A random first bucket for each file: otherwise the first buckets would get the remainder of every file.
    bucket = (generator.permutation(len(examples)) + generator.integers(num_buckets)) % num_buckets
    order = np.argsort(bucket, kind="stable")
    examples = examples.take(order)
    lengths = examples.first_lengths.astype(np.int64) + examples.second_lengths
    starts = np.zeros((num_buckets + 1, 2), _COUNT)
    starts[1:, 0] = np.cumsum(np.bincount(bucket, minlength=num_buckets))
    starts[1:, 1] = np.cumsum(np.bincount(bucket[order], weights=lengths, minlength=num_buckets))
    columns = (
        examples.first_lengths.astype(_LENGTH),
        examples.second_lengths.astype(_LENGTH),
        examples.labels.astype(_LABEL),
    )
    with whole_file(path) as aside, open(aside, "wb") as file:
        file.write(starts.tobytes())
        for start, end in pairwise(starts):
            rows, pieces = (slice(*pair) for pair in zip(start, end, strict=True))
            for column in columns:
                file.write(column[rows].tobytes())
            file.write(examples.pieces[pieces].tobytes())


def count_examples(path: str | Path, num_buckets: int) -> np.ndarray:
    """int64 array of shape [buckets]: how many examples of each bucket a file holds."""
    return np.diff(np.fromfile(path, _COUNT, 2 * (num_buckets + 1))[::2])


def read_bucket(paths, bucket: int, num_buckets: int, piece_dtype) -> Examples:
    """The examples of one bucket from all files, in the order of the files.

    Args:
      paths: files that `write_buckets` wrote.
      bucket: the bucket's number.
      num_buckets: the number that the files were written with.
      piece_dtype: the dtype of the pieces.
    """
    piece_dtype = np.dtype(piece_dtype)
    sizes = np.array([2 * _LENGTH.itemsize + _LABEL.itemsize, piece_dtype.itemsize])  # of examples and pieces
    parts = []
    for path in paths:
        with open(path, "rb") as file:
            file.seek(bucket * 2 * _COUNT.itemsize)
            before, end = np.frombuffer(file.read(4 * _COUNT.itemsize), _COUNT).reshape(2, 2)
            file.seek((num_buckets + 1) * 2 * _COUNT.itemsize + before @ sizes)
            content = file.read((end - before) @ sizes)
        examples, pieces = end - before
        columns, start = [], 0
        for dtype, count in (
            (_LENGTH, examples),
            (_LENGTH, examples),
            (_LABEL, examples),
            (piece_dtype, pieces),
        ):
            columns.append(np.frombuffer(content, dtype, count, start))
            start += columns[-1].nbytes
        parts.append(Examples(columns[3], *columns[:3]))
    return Examples.concatenate(parts)
