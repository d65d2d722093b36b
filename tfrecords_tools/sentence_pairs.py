"""Tokenised documents -> pairs of texts for next-sentence prediction, by the original's algorithm.

A text is always a run of consecutive sentences of one document, cut at its ends. In a corpus held as one
flat array of pieces it is therefore two numbers, and a pair is five: sampling moves no pieces, and
millions of pairs can be shuffled as a small array before any of them is laid out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

# create_pretraining_data.py, `create_instances_from_document`: how often another document is drawn.
_DRAWS_FOR_ANOTHER_DOCUMENT = 10
_SPECIAL_TOKENS_OF_A_PAIR = 3  # [CLS] a [SEP] b [SEP]


@dataclass(frozen=True)
class TokenizedCorpus:
    """Documents of sentences of pieces as three flat arrays; no sentence and no document is empty.

    Args:
      pieces: integer array of shape [tokens], the ids of all sentences one after another.
      sentence_starts: int64 array of shape [sentences + 1]: sentence s is
        pieces[sentence_starts[s] : sentence_starts[s + 1]].
      document_starts: int64 array of shape [documents + 1]: document d holds the sentences
        document_starts[d] up to but without document_starts[d + 1].
    """

    pieces: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray

    @classmethod
    def from_lengths(cls, pieces, sentence_lengths, document_of_sentence) -> "TokenizedCorpus":
        """Builds a corpus from its pieces, dropping sentences and documents without any, as the original.

        Args:
          pieces: integer array of shape [tokens].
          sentence_lengths: integer array of shape [sentences].
          document_of_sentence: integer array of shape [sentences], never falling: the document's number.
        """
        sentence_lengths = np.asarray(sentence_lengths, np.int64)
        kept = sentence_lengths > 0
        sentence_starts = np.concatenate([[0], np.cumsum(sentence_lengths[kept])])
        _, sentences = np.unique(np.asarray(document_of_sentence)[kept], return_counts=True)
        document_starts = np.concatenate([[0], np.cumsum(sentences)])
        return cls(np.asarray(pieces), sentence_starts.astype(np.int64), document_starts.astype(np.int64))

    @property
    def num_documents(self) -> int:
        return len(self.document_starts) - 1

    @property
    def num_sentences(self) -> int:
        return len(self.sentence_starts) - 1

    def take(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of many texts one after another, and the length of each.

        Args:
          starts, ends: int64 arrays of shape [batch], places in `pieces`.

        Returns:
          (int32 array of shape [all pieces of the batch], int64 array of shape [batch]).
        """
        lengths = ends - starts
        before = np.cumsum(lengths) - lengths
        places = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
        return self.pieces[places].astype(np.int32), lengths


class SentencePair(NamedTuple):
    """Two texts as places in `TokenizedCorpus.pieces`, ends excluded, already cut to fit together."""

    first_start: int
    first_end: int
    second_start: int
    second_end: int
    is_random_next: bool


def require_two_documents(num_documents: int):
    """Raises ValueError when there is no other document to take a random next text from."""
    if num_documents < 2:
        raise ValueError(
            f"the input holds {num_documents} document{'' if num_documents == 1 else 's'}, but random "
            "next sentences come from other documents, so at least 2 are needed: put a blank line between "
            "documents, or give more files."
        )


class PairSampler:
    """Draws pairs as `create_instances_from_document` of the original does, number for number.

    The documents are shuffled once. Each document is then cut into chunks of sentences that fill a
    target length; a chunk is split into two texts, or its first part is joined by a random text of
    another document and the rest is put back. A chunk of one sentence is always joined by a random text,
    so more than half of the pairs are random.

    Args:
      corpus: the `TokenizedCorpus`.
      max_seq_length: what both texts and three special tokens must fit into.
      short_seq_prob: how often a document is cut to a shorter target length, so that short texts are
        seen in training as well.
      rng: a `random.Random`; the same state gives the same pairs.

    Raises:
      ValueError: for a corpus of less than two documents.
    """

    def __init__(self, corpus: TokenizedCorpus, *, max_seq_length: int, short_seq_prob: float, rng: Random):
        require_two_documents(corpus.num_documents)
        self._room = max_seq_length - _SPECIAL_TOKENS_OF_A_PAIR
        self._short_seq_prob = short_seq_prob
        self._rng = rng
        order = list(range(corpus.num_documents))
        rng.shuffle(order)
        # A memoryview yields Python integers, several times faster to reckon with than NumPy scalars.
        self._sentence_starts = memoryview(corpus.sentence_starts)
        self._first_sentences = memoryview(corpus.document_starts[:-1][order])
        self._end_sentences = memoryview(corpus.document_starts[1:][order])

    def pairs(self, dupe_factor: int) -> Iterator[SentencePair]:
        """Yields the pairs of all documents, `dupe_factor` times over, each time drawn anew."""
        for _ in range(dupe_factor):
            for document in range(len(self._first_sentences)):
                yield from self.pairs_of_document(document)

    def pairs_of_document(self, document: int) -> Iterator[SentencePair]:
        """Yields the pairs whose first text is in the document with this number (after shuffling)."""
        rng, starts = self._rng, self._sentence_starts
        target_length = self._room
        if rng.random() < self._short_seq_prob:
            target_length = rng.randint(2, self._room)

        sentence, document_end = self._first_sentences[document], self._end_sentences[document]
        while sentence < document_end:
            chunk_end = self._end_of_text(sentence, document_end, target_length)
            sentences = chunk_end - sentence
            middle = sentence + (rng.randint(1, sentences - 1) if sentences >= 2 else 1)
            first = starts[sentence], starts[middle]

            is_random_next = sentences == 1 or rng.random() < 0.5
            if is_random_next:
                second = self._random_text(document, target_length - (first[1] - first[0]))
                sentence = middle  # the chunk's other sentences are put back
            else:
                second = starts[middle], starts[chunk_end]
                sentence = chunk_end
            yield SentencePair(*self._truncate(*first, *second), is_random_next)

    def _random_text(self, document, target_length):
        """Where a text of about `target_length` pieces in another document begins and ends."""
        rng, starts = self._rng, self._sentence_starts
        for _ in range(_DRAWS_FOR_ANOTHER_DOCUMENT):
            other = rng.randint(0, len(self._first_sentences) - 1)
            if other != document:
                break
        # When all draws fail the text is of the same document and still counts as random, as in the
        # original; with two documents that is one pair in a thousand.
        begin, end = self._first_sentences[other], self._end_sentences[other]
        begin = rng.randint(begin, end - 1)
        return starts[begin], starts[self._end_of_text(begin, end, target_length)]

    def _end_of_text(self, sentence, document_end, target_length):
        """The sentence after the text that begins at `sentence` and reaches the length, or the document."""
        starts = self._sentence_starts
        enough = starts[sentence] + target_length
        end = sentence + 1
        while end < document_end and starts[end] < enough:
            end += 1
        return end

    def _truncate(self, first, first_end, second, second_end):
        """Takes pieces from the longer text, at either end with even odds, until both fit."""
        random = self._rng.random
        for _ in range(first_end - first + second_end - second - self._room):
            if first_end - first > second_end - second:
                if random() < 0.5:
                    first += 1
                else:
                    first_end -= 1
            elif random() < 0.5:
                second += 1
            else:
                second_end -= 1
        return first, first_end, second, second_end
