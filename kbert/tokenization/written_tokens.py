"""How texts are written, where a model reads something else: special tokens written out, accents apart.
Standard library only."""

import operator
import unicodedata
from collections.abc import Callable, Iterable

from kbert.cli.warn_once import warn_once
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary import Vocabulary

_FEW = 100  # one of so many texts or tokens


def say_written_tokens(texts: Iterable, vocabulary: BaseVocabulary, source, reads_masks: bool = False):
    """Warns, once for a source, where a special token is written out in its texts. To kbert it is characters,
    as to google-research/bert; transformers reads the token.

    Args:
      texts: texts, or tuples, lists and dicts with texts in them, such as examples.
      vocabulary: the model's.
      source: what the message calls the texts.
      reads_masks: whether a mask in a text is read as one.
    """
    special = vocabulary.special_tokens
    tokens = (special.sep, special.cls, special.pad, special.unk, *(() if reads_masks else (special.mask,)))
    holds = {token: operator.methodcaller("__contains__", token) for token in tokens}
    written = (token for text in texts for token, is_found in holds.items() if _holds(text, is_found))
    if token := next(written, None):
        warn_once(
            f"{source}: texts hold {token} written out, which is read as characters; transformers would read "
            "the special token. The two texts of a pair are text and text_pair."
        )


class LettersApart:
    """Warns where letters and accents, or the parts of Korean syllables, stand apart (NFD) in texts, and
    together in the tokens: other tokens are then read than of the same words in NFC. WordPiece that strips
    accents takes them apart itself, SentencePiece puts them together.

    Args:
      vocabulary, source: as for `say_written_tokens`.
    """

    def __init__(self, vocabulary: BaseVocabulary, source):
        self._source, self._total, self._apart = source, 0, 0
        self._matters = (
            isinstance(vocabulary, Vocabulary)
            and not vocabulary.rules.strip_accents
            and sum(map(_is_apart, vocabulary.tokens)) * _FEW < len(vocabulary)
        )

    def look_at(self, text):
        """Counts a text, or a tuple, list or dict with texts in it."""
        self._total += 1
        self._apart += self._matters and _holds(text, _is_apart)

    def say(self):
        """Warns, after the last text, of more than one of a hundred."""
        if self._apart * _FEW > self._total:
            warn_once(
                f"{self._source}: in {self._apart:,} text(s) letters and accents are characters of their own "
                "(NFD), in the vocabulary they are one, so other tokens are read. Write the texts in NFC, "
                "here and elsewhere: unicodedata.normalize('NFC', text)."
            )


def _is_apart(text):
    return not text.isascii() and len(unicodedata.normalize("NFC", text)) < len(text)


def _holds(text, is_found: Callable[[str], bool]) -> bool:
    """Whether something is found in a text, or in a part of a tuple, list or dict."""
    if isinstance(text, str):
        return is_found(text)
    parts = text.values() if isinstance(text, dict) else text if isinstance(text, tuple | list) else ()
    return any(_holds(part, is_found) for part in parts)
