"""Many lines -> ids on the host, fast: every different chunk of text is tokenized once.

The pieces of a line are the pieces of its chunks, one after the other. Running text repeats its chunks, so
most of them are already known. The rules themselves are in the vocabulary's tokenizer, which tokenizes each
new chunk; finding chunks and their ids is left to NumPy.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from kbert.tokenization.base_vocabulary import BaseVocabulary
from tfrecords_tools.corpus.chunk_cutter import ChunkCutter
from tfrecords_tools.corpus.chunk_table import PADDING, ChunkTable
from tfrecords_tools.corpus.first_in_python import first_in_python
from tfrecords_tools.corpus.tokenized_corpus import piece_dtype
from tfrecords_tools.work.worker_pool import byte_batches

# What is kept at most before the memory is emptied, without the chunks of one call.
_MAX_CHUNKS = 1 << 18  # of 30 to 200 bytes each
_MAX_BYTES = 1 << 24  # of new chunks: a line without spaces is one chunk
_BYTES_IN_PYTHON = 1 << 22  # some seconds, as many as TensorFlow takes to load
_BYTES_PER_CALL = 1 << 20  # bytes of new chunks per call of the tokenizer, to limit its memory


class ChunkTokenizer:
    """The tokenizer of a vocabulary for many lines of running text, with a memory of chunks.

    The memory changes only the speed.

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
        self.dtype = piece_dtype(len(vocabulary))
        self._tokenize = first_in_python(vocabulary, _BYTES_IN_PYTHON)
        self._cut = ChunkCutter(vocabulary, PADDING)
        self._forget()

    def _forget(self):
        self._known, self._num_bytes = ChunkTable(), 0
        # The ids of chunk n: `counts[n]` of `ids` from `starts[n]` on.
        self._ids = np.zeros(0, self.dtype)
        self._starts, self._counts = np.zeros(1, np.int64), np.zeros(1, np.int64)

    def __call__(self, lines: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
        if len(self._known) > _MAX_CHUNKS or self._num_bytes > _MAX_BYTES:
            self._forget()
        chunks = self._cut(lines)
        numbers = self._numbers(chunks)
        counts = self._counts[numbers]
        ends = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=ends[1:])
        positions = np.repeat(self._starts[numbers] - ends[:-1], counts) + np.arange(ends[-1])
        return self._ids[positions], np.diff(ends[chunks.line_starts])

    def _numbers(self, chunks):
        """The number of each chunk, under which its ids are kept; those of new ones are made."""
        keys = self._known.keys(chunks.text, chunks.starts, chunks.ends)
        numbers = self._known.find(keys)
        new = np.flatnonzero(numbers == 0)
        while len(new):  # once, unless two different chunks have the same hash
            _, first = np.unique(keys.take(new).hashes(), return_index=True)
            rows = new[np.sort(first)]
            bounds = zip(chunks.starts[rows].tolist(), chunks.ends[rows].tolist(), strict=True)
            self._learn([chunks.text[start:end] for start, end in bounds])
            self._known.add(keys.take(rows))
            numbers[new] = self._known.find(keys.take(new))
            new = new[numbers[new] == 0]
        return numbers

    def _learn(self, chunks):
        ids = [row for batch in byte_batches(chunks, _BYTES_PER_CALL) for row in self._tokenize(batch)]
        counts = np.fromiter(map(len, ids), np.int64, len(ids))
        flat = np.fromiter(chain.from_iterable(ids), self.dtype, counts.sum())
        self._starts = np.append(self._starts, len(self._ids) + np.cumsum(counts) - counts)
        self._counts = np.append(self._counts, counts)
        self._ids = np.append(self._ids, flat)
        self._num_bytes += sum(map(len, chunks))
