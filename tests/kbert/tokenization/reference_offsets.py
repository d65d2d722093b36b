"""Where words and pieces stand in their text, in plain Python, to hold the graph's offsets against.

Goes through a text character by character and notes what each leaves behind. The words themselves are those
of reference_tokenizer.py; their letters follow one another as the characters of the text do.
"""

import unicodedata

from tests.kbert.tokenization import reference_tokenizer


class Source:
    """A character of the text with what belongs to it: `text[start:end]`."""

    def __init__(self, start):
        self.start, self.end = start, start + 1


def words(text: str, do_lower_case: bool, **rules) -> list[tuple[str, int, int]]:
    """The words and punctuation marks with [start, end)."""
    return [
        (word, sources[0].start, sources[-1].end)
        for word, sources in _words_and_sources(text, do_lower_case, **rules)
    ]


def pieces(text: str, vocabulary, do_lower_case: bool) -> list[tuple[str, int, int, int]]:
    """The pieces with [start, end) and the place of their word."""
    answer = []
    for place, (word, sources) in enumerate(_words_and_sources(text, do_lower_case)):
        rest = sources
        for piece in reference_tokenizer.wordpieces(word, vocabulary):
            length = len(word) if piece == "[UNK]" else len(piece.removeprefix("##"))
            own, rest = rest[:length], rest[length:]
            answer.append((piece, own[0].start, own[-1].end, place))
        if rest:
            raise AssertionError(f"{len(rest)} letters of {word!a} are in no piece")
    return answer


def _words_and_sources(text, do_lower_case, **rules):
    """Each word with the `Source` of each of its characters."""
    letters = _letters(text, do_lower_case, rules.get("strip_accents"))
    answer = []
    for word in reference_tokenizer.split_words(text, do_lower_case, **rules):
        while letters[0] is None:
            letters.pop(0)
        own, letters = letters[: len(word)], letters[len(word) :]
        if None in own:
            raise AssertionError(f"white space inside of {word!a}, a word of {text!a}")
        # What was deleted inside of a word belongs to the character before.
        for before, after in zip(own, own[1:], strict=False):
            if before is not after:
                before.end = after.start
        answer.append((word, own))
    if any(letters):
        raise AssertionError(f"characters of {text!a} are in no word")
    return answer


def _letters(text, do_lower_case, strip_accents):
    """The `Source` of each character that words are made of; None for white space."""
    letters = []
    for place, character in enumerate(text):
        is_break = character.isspace() and unicodedata.category(character) != "Cc" or character in "\t\n\r"
        left = _left_of(character, do_lower_case, strip_accents)
        if is_break:
            letters.append(None)
        elif left:
            letters.extend([Source(place)] * len(left))
        elif left is not None and letters and letters[-1]:
            letters[-1].end = place + 1
    return letters


def _left_of(character, do_lower_case, strip_accents):
    """The characters that become of one; none of an accent that is dropped; None for one that is deleted."""
    if unicodedata.category(character) in ("Cc", "Cf") or character == "\ufffd":
        return None
    character = character.lower() if do_lower_case else character
    if not (do_lower_case if strip_accents is None else strip_accents):
        return character
    decomposed = unicodedata.normalize("NFD", character)
    return "".join(part for part in decomposed if unicodedata.category(part) != "Mn")
