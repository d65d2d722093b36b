"""Lower case, and decomposed without accents: as the graph's StringLower, NFD and dropping of marks."""

import re

from kbert.tokenization.core_ops.code_points import (
    TABLES,
    CodePointSet,
    decomposed_characters,
    lowered_characters,
    numbers,
)

_CASED, _CASE_IGNORABLE, _FIXED_ACCENTS = map(
    CodePointSet, (TABLES["cased"], TABLES["case_ignorable"], TABLES["fixed_accents"])
)
_MARK_ORDER = {chr(code): rank for code, (rank,) in numbers(TABLES["mark_order"])}
_ORDERED_MARK = re.compile(f"[{''.join(_MARK_ORDER)}]")


_ACCENTS = dict.fromkeys(CodePointSet(TABLES["accents"]), "")
# Code point -> what it becomes, as str.translate asks for it.
_LOWERED = {code: "".join(map(chr, codes)) for code, codes in lowered_characters().items()}
_STRIPPED = {code: "".join(map(chr, codes)) for code, codes in decomposed_characters().items()} | _ACCENTS
_FOLDED = _STRIPPED | {code: text.translate(_STRIPPED) for code, text in _LOWERED.items()}


def fold(text: str, do_lower_case: bool, strip_accents: bool) -> str:
    """The text in lower case, and decomposed without accents, or one of both.

    A capital sigma at the end of a word becomes the final one, as The Unicode Standard, table 3-17, says.
    """
    if text.isascii():
        return text.lower() if do_lower_case else text
    if do_lower_case and "Σ" in text:
        text = _with_small_sigmas(text)
    if not strip_accents:
        return text.translate(_LOWERED) if do_lower_case else text
    becomes = _FOLDED if do_lower_case else _STRIPPED
    folded = text.translate(becomes)
    return _with_ordered_marks(text, becomes) if _ORDERED_MARK.search(folded) else folded


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


def _with_ordered_marks(text, becomes):
    """The folded text with its marks in NFD's order: an insertion into each run of them."""
    folded, run_start = [], 0
    for character in text:
        if character in _FIXED_ACCENTS:
            run_start = len(folded)
        for mark in character.translate(becomes):
            rank = _MARK_ORDER.get(mark, 0)
            position = len(folded)
            while rank and position > run_start and _MARK_ORDER[folded[position - 1]] > rank:
                position -= 1
            folded.insert(position, mark)
            if not rank:
                run_start = len(folded)
    return "".join(folded)
