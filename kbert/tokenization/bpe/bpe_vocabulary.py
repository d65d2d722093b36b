"""The vocabulary of byte-level BPE: vocab.json and merges.txt <-> ids and merges. Standard library only.

Source: GPT-2's encoder.py, which RoBERTa's tokenizer uses.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from kbert.files.json_file import read_json_object
from kbert.files.json_values import is_unicode
from kbert.tokenization.base_vocabulary import (
    BERT_TOKENS,
    ROBERTA_TOKENS,
    BaseVocabulary,
    SpecialTokens,
)

VOCABULARY_FILE, MERGES_FILE = "vocab.json", "merges.txt"
# Printable characters stand for themselves, the other bytes for characters from U+0100 on.
_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
# How each byte is written in the files.
BYTE_CHARACTERS = tuple(chr(b) if b in _PRINTABLE else chr(256 + _OTHERS.index(b)) for b in range(256))
_BYTES = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}
SPACE_CHARACTER = BYTE_CHARACTERS[0x20]
# ModernBERT's added tokens: [unused0], |||EMAIL_ADDRESS|||, <|padding|>.
_MARKS = re.compile(r"\[unused\d+\]|\|\|\|\w+\|\|\||<\|\w+\|>")


class BytePairVocabulary(BaseVocabulary):
    """The tokens of byte-level BPE and its merges.

    With BERT's special tokens it is ModernBERT's: texts are normalized, and tokens of plain spaces stand for
    runs of so many, which are never part of a word.

    Args:
      tokens: the tokens in id order, with `BYTE_CHARACTERS` for bytes.
      merges: pairs of tokens; the first pair is merged first.
      special_tokens: the `SpecialTokens`; RoBERTa's by default.
      source: a name for messages, such as the path of the files.

    Attributes:
      merges: tuple of the pairs.

    Raises:
      ValueError: as `BaseVocabulary`; for a byte without a token, and for a merge whose parts or whole are no
        tokens.
    """

    kind = "bpe"
    marks_first_word = False  # the mark is the blank before a word

    def __init__(
        self,
        tokens: Iterable[str],
        merges: Iterable[tuple[str, str]],
        special_tokens: SpecialTokens = ROBERTA_TOKENS,
        source: str = "vocabulary",
    ):
        super().__init__(tokens, special_tokens, source)
        self.merges = tuple(merges)
        missing = [character for character in BYTE_CHARACTERS if character not in self.ids]
        if missing:
            raise ValueError(
                f"{source} lacks the tokens of {len(missing)} bytes, such as {missing[0]!r}; byte-level BPE "
                "has a token for each of the 256."
            )
        for rank, (left, right) in enumerate(self.merges, start=1):
            unknown = [token for token in (left, right, left + right) if token not in self.ids]
            if unknown:
                raise ValueError(
                    f"{source}: merge {rank}, {left!r} + {right!r}, needs the token {unknown[0]!r}, which is "
                    f"not among its {len(self)} tokens; copy both files of one model."
                )

        runs = self.space_runs
        if sorted(runs) != list(range(2, len(runs) + 2)):
            raise ValueError(
                f"{source} has tokens for runs of {sorted(runs)} spaces; expected none, or one for 2, 3, 4 "
                "and so on, without gaps."
            )

    @classmethod
    def from_files(
        cls, vocab_file: str | Path, merges_file: str | Path, special_tokens: SpecialTokens = ROBERTA_TOKENS
    ) -> "BytePairVocabulary":
        """Reads `vocab.json` and `merges.txt`.

        Raises:
          ValueError: for a missing or broken file, ids with gaps, and as the class does.
        """
        return cls(*read_files(vocab_file, merges_file), special_tokens, str(vocab_file))

    @property
    def is_modernbert(self) -> bool:
        """Whether texts are normalized (NFC), as with ModernBERT's tokenizer.

        Its special tokens, which are BERT's, tell it from GPT-2's and RoBERTa's.
        """
        return self.special_tokens == BERT_TOKENS

    @property
    def added_marks(self) -> set[str]:
        """ModernBERT's added tokens that nobody writes: transformers reads them whole, kbert as text."""
        return {token for token in self.tokens if self.is_modernbert and _MARKS.fullmatch(token)}

    @property
    def space_runs(self) -> dict[int, int]:
        """Number of spaces -> id of the token that stands for a run of so many; empty in GPT-2's."""
        return {len(token): index for token, index in self.ids.items() if not token.strip(" ")}

    def continues_word(self, token):
        return not token.startswith((SPACE_CHARACTER, " "))

    def begins_text(self, token):
        return SPACE_CHARACTER + token in self.ids  # it is a word elsewhere

    def as_text(self, token):
        if token in self.special_tokens or not token.strip(" "):
            return token
        content = bytes(_BYTES.get(character, 0x3F) for character in token)
        return content.decode("utf-8", errors="replace").strip()

    def files(self):
        merges = "".join(f"{left} {right}\n" for left, right in self.merges)
        return {
            VOCABULARY_FILE: json.dumps(self.ids, ensure_ascii=False).encode("utf-8"),
            MERGES_FILE: f"#version: 0.2\n{merges}".encode(),
        }


def read_files(vocab_file: str | Path, merges_file: str | Path) -> tuple[list[str], list[tuple[str, str]]]:
    """(tokens, merges) of `vocab.json` and `merges.txt`. Raises ValueError for missing and broken files."""
    ids = read_json_object(Path(vocab_file))
    return in_id_order(ids, vocab_file), _read_merges(Path(merges_file))


def in_id_order(ids: dict, source) -> list[str]:
    """The tokens of a dict from token to id. Raises ValueError for ids with gaps and what is no Unicode."""
    are_numbers = all(type(index) is int for index in ids.values())
    if not are_numbers or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{source}: expected its tokens to be numbered 0, 1, 2 ... without gaps.")
    if not all(map(is_unicode, ids)):
        raise ValueError(f"{source}: a token holds half of a surrogate pair; expected Unicode.")
    return sorted(ids, key=ids.__getitem__)


def _read_merges(path):
    if not path.is_file():
        raise ValueError(f"{path} does not exist; byte-level BPE needs it beside {VOCABULARY_FILE}.")
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8 (byte {error.start}); expected merges, one pair a line."
        ) from None
    merges = []
    for number, line in enumerate((line.rstrip("\r") for line in lines), start=1):
        pair = line.split(" ")
        if not line or (number == 1 and line.startswith("#version")):
            continue
        if len(pair) != 2 or not all(pair):
            raise ValueError(
                f"{path} line {number} is {line[:40]!r}; expected two tokens with a space between."
            )
        merges.append((pair[0], pair[1]))
    return merges
