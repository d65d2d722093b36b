"""A vocabulary as workers are told of it: by its file, and known again by what it says."""

from dataclasses import dataclass, field
from pathlib import Path

from kbert.tokenization.vocabulary import Vocabulary


@dataclass(frozen=True)
class StoredVocabulary:
    """A vocabulary in a file. Two are equal when their pieces and casing are, wherever the files lie.

    A process keeps by this what it makes of a vocabulary: another job with the same one does not trace its
    tokenizer again, and a job with another one in the same folder never gets the tokenizer of before.

    Args:
      file: the vocab.txt.
      do_lower_case: its casing.
      fingerprint: of the `Vocabulary` that it holds.
    """

    file: Path = field(compare=False)
    do_lower_case: bool
    fingerprint: str

    def read(self) -> Vocabulary:
        return Vocabulary.from_file(self.file, self.do_lower_case)
