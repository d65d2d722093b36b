"""What WordPiece does with a text before it looks for tokens. Standard library only."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# tokenization.py, WordpieceTokenizer(max_input_chars_per_word=200): longer words become [UNK].
MAX_CHARACTERS_PER_WORD = 200
MOST_CHARACTERS = 1 << 28  # of any limit: no text has a longer word, and four bytes each fit into int32


class WrongRules(ValueError):
    """A setting of `WordPieceRules` that is none."""


@dataclass(frozen=True)
class WordPieceRules:
    """How a text becomes words, and which words are too long: the arguments of transformers' BertTokenizer.

    google-research/bert has the first alone: it strips accents exactly when it lower-cases, makes a word of
    every ideograph, and takes words of up to 200 characters.

    Args:
      do_lower_case: whether texts are lower-cased.
      strip_accents: whether characters are decomposed (NFD) and combining marks (`\\p{Mn}`) dropped; None
        means as `do_lower_case`.
      tokenize_chinese_chars: whether every CJK ideograph is a word.
      max_input_chars_per_word: words of more characters become [UNK].

    Raises:
      WrongRules: for a limit below 1 or above `MOST_CHARACTERS`, and a setting of another type.
    """

    do_lower_case: bool
    strip_accents: bool | None = None
    tokenize_chinese_chars: bool = True
    max_input_chars_per_word: int = MAX_CHARACTERS_PER_WORD

    def __post_init__(self):
        if self.strip_accents is None:
            object.__setattr__(self, "strip_accents", self.do_lower_case)
        for name in ("do_lower_case", "strip_accents", "tokenize_chinese_chars"):
            if not isinstance(getattr(self, name), bool):
                raise WrongRules(f"{name}={getattr(self, name)!r} should be true or false.")
        limit = self.max_input_chars_per_word
        if type(limit) is not int or not 1 <= limit <= MOST_CHARACTERS:
            raise WrongRules(
                f"max_input_chars_per_word={limit!r} should be a whole number from 1 to {MOST_CHARACTERS}; "
                f"google-research/bert has {MAX_CHARACTERS_PER_WORD}, transformers 100."
            )

    @property
    def splitting(self) -> dict[str, bool]:
        """What decides about the words of a text: the arguments of `split_words`."""
        return {
            "do_lower_case": self.do_lower_case,
            "strip_accents": bool(self.strip_accents),
            "tokenize_chinese_chars": self.tokenize_chinese_chars,
        }

    @property
    def not_googles(self) -> dict[str, Any]:
        """The settings that google-research/bert's tokenizer does not have, with their values."""
        googles = WordPieceRules(self.do_lower_case)
        return {name: value for name, value in vars(self).items() if value != getattr(googles, name)}

    @property
    def casing(self) -> str:
        """For messages: what happens to capitals and accents."""
        lower, accents = (str(value).lower() for value in (self.do_lower_case, self.strip_accents))
        return f"do_lower_case={lower}" + (f" with strip_accents={accents}" if lower != accents else "")

    def normalized(self, token: str) -> str:
        """A token as a text of it would be, but for its words: by this Python's Unicode."""
        token = token.lower() if self.do_lower_case else token
        if not self.strip_accents or token.isascii():
            return token
        decomposed = unicodedata.normalize("NFD", token)
        return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


# The settings beside `do_lower_case`, which descriptions record where they are not google-research/bert's.
RULES = tuple(name for name in WordPieceRules.__dataclass_fields__ if name != "do_lower_case")


def recorded_rules(description: Mapping[str, Any]) -> dict[str, Any]:
    """The settings beside `do_lower_case` that a description of a vocabulary records; google's are left out.

    Args:
      description: a vocabulary's `describe()`.

    Raises:
      WrongRules: for values that are none.
    """
    recorded = {name: description[name] for name in RULES if name in description}
    WordPieceRules(False, **recorded)
    return recorded
