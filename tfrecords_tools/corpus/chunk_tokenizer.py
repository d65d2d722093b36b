"""Many lines -> ids on the host, fast: every different chunk between two spaces is tokenized once.

The pieces of a line are the pieces of its chunks, `vocabulary.chunks(line)`, one after the other. Running
text repeats its chunks, so most of them are already known. The rules themselves are in the vocabulary's
tokenizer, which tokenizes each new chunk.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.tokenizer import build_tokenizer
from tfrecords_tools.work.worker_pool import byte_batches

# Longer chunks rarely occur again (a whole line of Chinese is one chunk), so they are not kept.
_MAX_BYTES_OF_KEPT_CHUNK = 64
_MAX_CHUNKS = 1_000_000  # in the cache, about 200 bytes each; beyond that it is emptied
_BYTES_PER_CALL = 1 << 20  # bytes of new chunks per call of the graph, to limit its memory


class ChunkTokenizer:
    """The tokenizer of a vocabulary for many lines of running text, with a cache of chunks.

    The cache changes only the speed.

    Args:
      vocabulary: the `BaseVocabulary`.

    Call arguments:
      lines: UTF-8 bytes; bytes that are not UTF-8 are ignored.

    Returns:
      (pieces, lengths): the ids of all lines, one line after the other, uint16 of shape [pieces] (int32 for
      vocabularies of more than 65,536 pieces), without [CLS] and [SEP]; and how many belong to each line,
      int64 of shape [lines].

    Examples:
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> ChunkTokenizer(vocabulary)([b"Playing chess", b"", b"play"])
      (array([5, 6, 1, 5], dtype=uint16), array([3, 0, 1]))
    """

    def __init__(self, vocabulary: BaseVocabulary):
        self.vocabulary = vocabulary
        self.dtype = np.dtype(np.uint16 if len(vocabulary) <= 1 << 16 else np.int32)
        self._ids = _KnownChunks()
        tokenize = build_tokenizer(vocabulary)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
        def tokenize_chunks(chunks):
            pieces = tokenize(chunks)
            return pieces.flat_values, pieces.row_lengths()

        self._tokenize_chunks = tokenize_chunks

    def __call__(self, lines: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        known = self._ids
        if len(known) > _MAX_CHUNKS:
            known.clear()
        chunks, lookup, join, misses = self.vocabulary.chunks, known.__getitem__, b"".join, known.misses
        misses.clear()  # an interrupted call may have left some
        rows, waiting, num_misses = [], [], 0
        for line in lines:
            ids = list(map(lookup, chunks(line)))
            if len(misses) == num_misses:
                rows.append(join(ids))
            else:
                num_misses = len(misses)
                waiting.append((len(rows), ids))
                rows.append(b"")
        if waiting:
            learned = self._learn(dict.fromkeys(misses))
            in_order = iter(misses)
            for index, ids in waiting:
                rows[index] = join(
                    learned[next(in_order)] if chunk_ids is None else chunk_ids for chunk_ids in ids
                )
        lengths = np.fromiter(map(len, rows), np.int64, len(rows)) // self.dtype.itemsize
        return np.frombuffer(join(rows), self.dtype), lengths

    def _learn(self, chunks: Iterable[bytes]) -> dict[bytes, bytes]:
        """Returns the ids of new chunks, and keeps them in the cache unless the chunk is too long."""
        learned = {}
        size = self.dtype.itemsize
        for batch in byte_batches(chunks, _BYTES_PER_CALL):
            flat, lengths = self._tokenize_chunks(tf.constant(batch, tf.string))
            content = flat.numpy().astype(self.dtype).tobytes()
            ends = np.cumsum(lengths.numpy()) * size
            start = 0
            for chunk, end in zip(batch, ends.tolist(), strict=True):
                learned[chunk] = content[start:end]
                start = end
        self._ids.update(
            (chunk, ids) for chunk, ids in learned.items() if len(chunk) <= _MAX_BYTES_OF_KEPT_CHUNK
        )
        return learned


class _KnownChunks(dict):
    """Chunk -> its ids as the bytes of an array. For a new chunk None, and the chunk is added to `misses`."""

    def __init__(self):
        super().__init__()
        self.misses = []

    def __missing__(self, chunk):
        self.misses.append(chunk)
