"""Tokenised documents -> pairs of texts for next-sentence or sentence-order prediction.

A text is always a run of consecutive sentences of one document, possibly cut at both ends. In a corpus stored
as one flat array of pieces, a text is therefore two numbers, its start and end. A pair is five numbers, two
texts and a label: sampling copies no pieces.
"""

from array import array
from bisect import bisect_left
from random import Random

import numpy as np

from kbert.tokenization.truncation import truncated_lengths
from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus

# create_pretraining_data.py, `create_instances_from_document`: how often another document is drawn.
_DRAWS_FOR_ANOTHER_DOCUMENT = 10
_COLUMNS = 5


class PairSampler:
    """Draws pairs as `create_instances_from_document` of the original does.

    Each document is cut into chunks of sentences that fill a target length. A chunk is split into two
    texts; or its first part is paired with a random text of another document, and the rest is put back. A
    chunk of one sentence is always paired with a random text, so more than half of the pairs are random.

    With `sentence_order` the two parts of a chunk are swapped instead, with probability one half, as in
    ALBERT (arXiv 1909.11942, section 3.1). Its create_pretraining_data.py still pairs a chunk of one sentence
    with a random text, and so does this class.

    Args:
      corpus: the `TokenizedCorpus`, which includes the documents that random texts come from.
      room: how many tokens both texts may take together.
      short_seq_prob: probability that a document gets a shorter target length, so that training sees
        short texts as well.
      rng: a `random.Random`; the same state gives the same pairs.
      sentence_order: swap instead of drawing random texts.
    """

    def __init__(
        self,
        corpus: TokenizedCorpus,
        *,
        room: int,
        short_seq_prob: float,
        rng: Random,
        sentence_order: bool = False,
    ):
        self._room = room
        self._short_seq_prob = short_seq_prob
        # One source of numbers: int(random() * n) is three times as fast as randint(0, n - 1).
        self._random = rng.random
        self._sentence_order = sentence_order
        # Lists yield Python integers; arithmetic with them is several times faster than with NumPy's.
        self._sentence_starts = corpus.sentence_starts.tolist()
        self._document_starts = corpus.document_starts.tolist()

    def pairs(self, documents) -> np.ndarray:
        """The pairs whose first text is in one of the documents.

        Args:
          documents: numbers of documents, in the order to go through them.

        Returns:
          int64 array of shape [pairs, 5]: where the first text starts and ends in `corpus.pieces`, where the
          second does, and the label: 1 for a random (or swapped) pair, 0 for the real next text. Nothing is
          truncated yet.
        """
        pairs = array("q")
        for document in documents:
            self._add_document_pairs(document, pairs)
        return np.frombuffer(pairs, np.int64).reshape(-1, _COLUMNS)

    def _add_document_pairs(self, document, pairs):
        random, starts = self._random, self._sentence_starts
        target_length = self._room
        if random() < self._short_seq_prob:
            target_length = 2 + int(random() * (self._room - 1))

        sentence, document_end = self._document_starts[document : document + 2]
        while sentence < document_end:
            start = starts[sentence]
            chunk_end = bisect_left(starts, start + target_length, sentence + 1, document_end)
            sentences = chunk_end - sentence
            middle = sentence + 1
            if sentences >= 2:
                middle += int(random() * (sentences - 1))
            split = starts[middle]

            if sentences == 1 or (not self._sentence_order and random() < 0.5):
                second = self._random_text(document, target_length - (split - start))
                pairs.extend((start, split, *second, 1))
                sentence = middle  # the chunk's other sentences are put back
                continue
            end = starts[chunk_end]
            if self._sentence_order and random() < 0.5:
                pairs.extend((split, end, start, split, 1))
            else:
                pairs.extend((start, split, split, end, 0))
            sentence = chunk_end

    def _random_text(self, document, target_length):
        """Where a text of about `target_length` pieces in another document begins and ends."""
        random, starts = self._random, self._sentence_starts
        for _ in range(_DRAWS_FOR_ANOTHER_DOCUMENT):
            other = int(random() * (len(self._document_starts) - 1))
            if other != document:
                break
        # When all draws fail, the text comes from the same document and still counts as random, as in the
        # original; with two documents this happens to one pair in a thousand.
        first, end = self._document_starts[other : other + 2]
        first += int(random() * (end - first))
        # At least one sentence, even if the first text alone reaches the target.
        return starts[first], starts[bisect_left(starts, starts[first] + target_length, first + 1, end)]


def truncate_pairs(pairs: np.ndarray, room: int, generator: np.random.Generator) -> np.ndarray:
    """Cuts pairs until both texts fit, as `truncate_seq_pair` of the original does.

    The original removes pieces one by one from the longer text (on a tie from the second), each from the
    front or the end with equal probability. So the new lengths follow from the old lengths alone, and the
    number of pieces removed at the front is binomial.

    Args:
      pairs: int64 array of shape [pairs, 5], from `PairSampler.pairs`.
      room: how many tokens both texts may take together.
      generator: draws how many pieces are removed at the front.

    Returns:
      int64 array of the same shape.
    """
    first, first_end, second, second_end, label = pairs.T
    first_lengths, second_lengths = first_end - first, second_end - second
    kept_first, kept_second = truncated_lengths(first_lengths, second_lengths, room, np.minimum, np.maximum)
    first = first + generator.binomial(first_lengths - kept_first, 0.5)
    second = second + generator.binomial(second_lengths - kept_second, 0.5)
    return np.stack([first, first + kept_first, second, second + kept_second, label], axis=1)
