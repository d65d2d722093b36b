"""What a caller gives as texts -> lists of strings, or one sentence that names what is none."""

from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

_SHOWN = 40  # characters of a text in an error


class TextBatch(NamedTuple):
    """Texts as they go to a model together.

    Fields:
      texts: the texts.
      pairs: the second texts, None in the place of one that is missing; or None when none was given.
      is_alone: whether one text was given by itself, and not in a list.
    """

    texts: list[str]
    pairs: list[str | None] | None
    is_alone: bool

    def answer(self, answers):
        """All answers, one a text; or the one answer of a text by itself."""
        return answers[0] if self.is_alone else answers


def text_batch(texts, text_pairs=None, pairs_may_miss: bool = False) -> TextBatch:
    """One text or several, alone or in pairs, as lists.

    Args:
      texts: a string, or an iterable of strings.
      text_pairs: the second texts, in the same form; or None.
      pairs_may_miss: whether None may stand in the place of a second text.

    Raises:
      ValueError: naming the place of whatever is no text, or numbers of texts that differ.
    """
    is_alone = isinstance(texts, str)
    firsts = _texts(texts, "texts")
    if text_pairs is None:
        return TextBatch(firsts, None, is_alone)
    if isinstance(text_pairs, str) != is_alone:
        alone, listed = ("texts", "text_pairs") if is_alone else ("text_pairs", "texts")
        raise ValueError(f"{alone} is one text, but {listed} is not; give one text each, or a list each.")
    seconds = _texts(text_pairs, "text_pairs", pairs_may_miss)
    if len(firsts) != len(seconds):
        raise ValueError(f"{len(firsts)} texts but {len(seconds)} text_pairs; give one for each.")
    return TextBatch(firsts, seconds, is_alone)


def _texts(texts, name, may_miss=False):
    if isinstance(texts, str):
        return [_text(texts, name)]
    # A mapping would give its keys, a set an order of its own, and bytes numbers.
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping | Set | bytes | bytearray):
        raise ValueError(f"{name} is {_kind(texts)}; expected a text (str) or a list of texts.")
    try:
        given = list(texts)
    except TypeError:  # an array without axes says only now that it cannot be gone through
        raise ValueError(f"{name} is {_kind(texts)}; expected a text (str) or a list of texts.") from None
    return [
        text if text is None and may_miss else _text(text, f"{name}[{place}]")
        for place, text in enumerate(given)
    ]


def _text(text, name):
    if not isinstance(text, str):
        mend = "; decode it first, for example with .decode('utf-8')" if isinstance(text, bytes) else ""
        raise ValueError(f"{name} is {_kind(text)}; expected a text (str){mend}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} is no text that UTF-8 can hold: its character {error.start + 1} is "
            f"{ascii(text[error.start])}, half of a surrogate pair. Read the text again with the encoding "
            "that it was written in, or take the character out."
        ) from None
    return str(text)


def _kind(value):
    shown = "" if value is None else f" ({repr(value)[:_SHOWN]})"
    return f"{type(value).__name__}{shown}"
