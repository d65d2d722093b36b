"""Lower case, decomposed, without accents: as the graph's StringLower, NFD and dropping of marks."""

import re

from kbert.tokenization.core_ops.code_points import TABLES, CodePointSet, folded_characters, numbers

_CASED, _CASE_IGNORABLE, _FIXED_ACCENTS = map(
    CodePointSet, (TABLES["cased"], TABLES["case_ignorable"], TABLES["fixed_accents"])
)
_MARK_ORDER = {chr(code): rank for code, (rank,) in numbers(TABLES["mark_order"])}
_ORDERED_MARK = re.compile(f"[{''.join(_MARK_ORDER)}]")


# Code point -> what it becomes, as str.translate asks for it.
_FOLDING = {code: "".join(map(chr, codes)) for code, codes in folded_characters().items()} | dict.fromkeys(
    CodePointSet(TABLES["accents"]), ""
)


def fold(text: str) -> str:
    """The lower-case text, decomposed and without accents.

    A capital sigma at the end of a word becomes the final one, as The Unicode Standard, table 3-17, says.
    """
    if text.isascii():
        return text.lower()
    if "Σ" in text:
        text = _with_small_sigmas(text)
    folded = text.translate(_FOLDING)
    return _with_ordered_marks(text) if _ORDERED_MARK.search(folded) else folded


def _with_small_sigmas(text):
    characters = list(text)
    for position, character in enumerate(characters):
        if character == "Σ":
            characters[position] = "ς" if _is_final(text, position) else "σ"
    return "".join(characters)


def _is_final(text, position) -> bool:
    """Whether a cased character stands before the position and none behind it, past case-ignorable ones."""
    return _meets_cased(text, position, -1) and not _meets_cased(text, position, 1)


def _meets_cased(text, position, step) -> bool:
    position += step
    while 0 <= position < len(text) and text[position] in _CASE_IGNORABLE:
        position += step
    return 0 <= position < len(text) and text[position] in _CASED


def _with_ordered_marks(text):
    """The folded text with its marks in NFD's order: an insertion into each run of them."""
    folded, run_start = [], 0
    for character in text:
        if character in _FIXED_ACCENTS:
            run_start = len(folded)
        for mark in character.translate(_FOLDING):
            rank = _MARK_ORDER.get(mark, 0)
            position = len(folded)
            while rank and position > run_start and _MARK_ORDER[folded[position - 1]] > rank:
                position -= 1
            folded.insert(position, mark)
            if not rank:
                run_start = len(folded)
    return "".join(folded)
