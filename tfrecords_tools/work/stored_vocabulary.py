"""A vocabulary as it is sent to workers: the path of its file, and a fingerprint of its contents."""

from dataclasses import dataclass, field
from pathlib import Path

from kbert.tokenization.vocabulary import Vocabulary


@dataclass(frozen=True)
class StoredVocabulary:
    """A vocabulary in a file. Two are equal when their pieces and casing are, wherever the files lie.

    Processes cache under this key what they build from a vocabulary. Another job with the same vocabulary
    does not trace its tokenizer again. A job with another vocabulary in the same folder never gets the old
    tokenizer.

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
