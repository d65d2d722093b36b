"""Documents of sentences of pieces as three flat arrays, in memory and on disk."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kbert.files.whole_file import whole_file


@dataclass(frozen=True)
class TokenizedCorpus:
    """Documents of sentences of pieces; no sentence and no document is empty.

    Args:
      pieces: integer array of shape [tokens], the ids of all sentences one after another.
      sentence_starts: int64 array of shape [sentences + 1]: sentence s is
        pieces[sentence_starts[s] : sentence_starts[s + 1]].
      document_starts: int64 array of shape [documents + 1]: document d holds the sentences
        document_starts[d] up to, but not including, document_starts[d + 1].
    """

    pieces: np.ndarray
    sentence_starts: np.ndarray
    document_starts: np.ndarray

    @classmethod
    def from_lengths(cls, pieces, sentence_lengths, document_ids) -> "TokenizedCorpus":
        """Builds a corpus. Sentences and documents without pieces are dropped, as the original drops them.

        Args:
          pieces: integer array of shape [tokens].
          sentence_lengths: integer array of shape [sentences].
          document_ids: integer array of shape [sentences], non-decreasing: the document of each.
        """
        sentence_lengths = np.asarray(sentence_lengths, np.int64)
        kept = sentence_lengths > 0
        _, sentences = np.unique(np.asarray(document_ids)[kept], return_counts=True)
        return cls(np.asarray(pieces), _starts(sentence_lengths[kept]), _starts(sentences))

    @classmethod
    def concatenate(cls, corpora: list["TokenizedCorpus"]) -> "TokenizedCorpus":
        """One corpus with the documents of all, in order."""
        if len(corpora) == 1:
            return corpora[0]
        return cls(
            np.concatenate([corpus.pieces for corpus in corpora]),
            _starts(np.concatenate([np.diff(corpus.sentence_starts) for corpus in corpora])),
            _starts(np.concatenate([np.diff(corpus.document_starts) for corpus in corpora])),
        )

    @property
    def num_documents(self) -> int:
        return len(self.document_starts) - 1

    @property
    def num_sentences(self) -> int:
        return len(self.sentence_starts) - 1

    def take(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of many texts one after another, and the length of each.

        Args:
          starts, ends: int64 arrays of shape [batch], positions in `pieces`.

        Returns:
          (array of shape [all pieces of the batch] with the dtype of `pieces`, int64 array of shape [batch]).
        """
        lengths = ends - starts
        return take_stretches(self.pieces, starts, lengths), lengths

    def without(self, dropped: np.ndarray) -> "TokenizedCorpus":
        """The corpus without the documents at which the bool array `dropped` is True."""
        if not dropped.any():
            return self
        kept = ~dropped
        sentences = np.diff(self.document_starts)
        kept_sentences = np.repeat(kept, sentences)
        lengths = np.diff(self.sentence_starts)
        return TokenizedCorpus(
            self.pieces[np.repeat(kept_sentences, lengths)],
            _starts(lengths[kept_sentences]),
            _starts(sentences[kept]),
        )

    def save(self, path: str | Path):
        """Writes the corpus: both numbers of starts, the starts, the pieces."""
        starts = (self.document_starts, self.sentence_starts)
        with whole_file(path) as aside, open(aside, "wb") as file:
            # Not by `tofile`, which loses the end of a file without an error where the disk is full.
            for values in (np.array([len(values) for values in starts]), *starts, self.pieces):
                file.write(np.ascontiguousarray(values).data)

    @classmethod
    def load(cls, path: str | Path, piece_dtype: np.dtype) -> "TokenizedCorpus":
        """Maps what `save` wrote into memory: only what is used is read.

        Raises:
          ValueError: for a file that is not whole.
        """
        try:
            content = np.asarray(np.memmap(path, np.uint8, "r"))
            documents, sentences = content[:16].view(np.int64)
            starts = content[16 : 16 + 8 * (documents + sentences)].view(np.int64)
            pieces = content[16 + starts.nbytes :].view(piece_dtype)
            is_whole = len(pieces) == starts[-1]
        except (ValueError, IndexError):  # from NumPy: a length that its dtype cannot have
            is_whole = False
        if not is_whole:  # after a power failure, say: what lies in a cache is lost
            raise ValueError(f"{path} is not whole; delete {Path(path).parents[1]}, and start again.")
        return cls(pieces, starts[documents:], starts[:documents])


def piece_dtype(vocab_size: int) -> np.dtype:
    """That of stored pieces: uint16 for vocabularies of at most 65,536 pieces, else int32."""
    return np.dtype(np.uint16 if vocab_size <= 1 << 16 else np.int32)


def take_stretches(pieces: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Stretches of an array one after another; where each begins and how long it is: int64 (stretches,)."""
    before = np.cumsum(lengths) - lengths
    return pieces[np.repeat(starts - before, lengths) + np.arange(lengths.sum())]


def _starts(lengths):
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
