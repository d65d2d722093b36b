"""Many lines -> WordPiece ids on the host, fast: every different chunk between two spaces is tokenized once.

No rule of the original BERT joins text across a space: not cleaning, not lower-casing (the final sigma looks
no further than its word), not the order of accents, not bytes that are not UTF-8. So the pieces of a line
are those of its chunks `line.split(b" ")`, one after the other, and running text repeats its chunks. The
rules themselves stay where they are, in `WordPieceTokenizer`, which sees each chunk that is new.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer

# Longer chunks hardly come back (a line of Chinese is one), so they are not kept.
_MAX_BYTES_OF_KEPT_CHUNK = 64
_BYTES_PER_CALL = 1 << 20  # of new chunks that one call of the graph takes, to bound its memory


class ChunkTokenizer:
    """`WordPieceTokenizer` for many lines of running text, with a memory.

    The ids are those of `WordPieceTokenizer`; what is remembered changes the speed only.

    Args:
      vocabulary: the `Vocabulary`; its casing decides lower-casing and accents.
      max_chunks: how many different chunks are remembered, about 200 bytes each; then all are forgotten.

    Call arguments:
      lines: UTF-8 bytes; bytes that are not UTF-8 are ignored.

    Returns:
      (pieces, lengths): the ids of all lines, one line after the other, uint16 of shape [pieces] (int32 for
      vocabularies of more than 65,536 pieces), without [CLS] and [SEP]; and how many belong to each line,
      int64 of shape [lines].

    Example:
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> ChunkTokenizer(vocabulary)([b"Playing chess", b"", b"play"])
      (array([5, 6, 1, 5], dtype=uint16), array([3, 0, 1]))
    """

    def __init__(self, vocabulary: Vocabulary, max_chunks: int = 1_000_000):
        if max_chunks < 1:
            raise ValueError(f"max_chunks={max_chunks} must be at least 1.")
        self.vocabulary = vocabulary
        self.dtype = np.dtype(np.uint16 if len(vocabulary) <= 1 << 16 else np.int32)
        self._max_chunks = max_chunks
        self._ids = {}  # chunk -> its ids as the bytes of an array
        tokenize = WordPieceTokenizer(vocabulary)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def tokenize_chunks(chunks):
            pieces = tokenize(chunks)
            return pieces.flat_values, pieces.row_lengths()

        self._tokenize_chunks = tokenize_chunks

    def __call__(self, lines: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        if len(self._ids) > self._max_chunks:
            self._ids.clear()
        join, ids_of = b"".join, self._ids.__getitem__
        rows, waiting = [], []
        for index, line in enumerate(lines):
            try:
                rows.append(join(map(ids_of, line.split(b" "))))
            except KeyError:  # a chunk that is new: its line waits for the others'
                rows.append(b"")
                waiting.append(index)
        if waiting:
            long_ids = self._learn({chunk for index in waiting for chunk in lines[index].split(b" ")})
            known = _Both(self._ids, long_ids).__getitem__ if long_ids else ids_of
            for index in waiting:
                rows[index] = join(map(known, lines[index].split(b" ")))
        lengths = np.fromiter(map(len, rows), np.int64, len(rows)) // self.dtype.itemsize
        return np.frombuffer(join(rows), self.dtype), lengths

    def _learn(self, chunks: set[bytes]) -> dict[bytes, bytes]:
        """Tokenizes the chunks that are not known; returns those too long to be remembered."""
        long_ids = {}
        size = self.dtype.itemsize
        for batch in _batches(chunks.difference(self._ids)):
            flat, lengths = self._tokenize_chunks(tf.constant(batch, tf.string))
            content = flat.numpy().astype(self.dtype).tobytes()
            start = 0
            for chunk, length in zip(batch, lengths.numpy().tolist(), strict=True):
                end = start + size * length
                kept = self._ids if len(chunk) <= _MAX_BYTES_OF_KEPT_CHUNK else long_ids
                kept[chunk] = content[start:end]
                start = end
        return long_ids


class _Both(dict):
    """A look-up in `first`, and where it has nothing in `second`."""

    def __init__(self, first, second):
        super().__init__(second)
        self._first = first

    def __missing__(self, chunk):
        return self._first[chunk]


def _batches(chunks) -> Iterator[list[bytes]]:
    batch, num_bytes = [], 0
    for chunk in chunks:
        batch.append(chunk)
        num_bytes += len(chunk)
        if num_bytes >= _BYTES_PER_CALL:
            yield batch
            batch, num_bytes = [], 0
    if batch:
        yield batch
