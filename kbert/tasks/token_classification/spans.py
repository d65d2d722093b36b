"""Entities as spans of characters -> a tag for each word of their text."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kbert.input_pipelines.json_rows import json_type
from kbert.tasks.token_classification.tag_schemes import OUTSIDE, from_iob2


class Word(NamedTuple):
    """A word of a text, with its position in code points."""

    text: str
    start: int
    end: int


class Span(NamedTuple):
    """An entity of a text, with its position in code points."""

    start: int
    end: int
    type: str


def parse_spans(value: Any, where: str) -> list[Span]:
    """The spans of a JSON value: a list of {"start", "end", "type"} (or "label"), or of [start, end, type].

    Raises:
      ValueError: naming `where`, for anything else.
    """
    if not isinstance(value, list):
        raise ValueError(f"{where} has a JSON {json_type(value)} as its spans; expected a list of spans.")
    return [_parse_span(entry, f"{where}, span {number}") for number, entry in enumerate(value)]


def _parse_span(entry, where):
    if isinstance(entry, dict):
        kinds = [entry[name] for name in ("type", "label") if name in entry]
        fields = [entry.get("start"), entry.get("end"), *kinds]
    else:
        fields = entry if isinstance(entry, list) else []
    if not (len(fields) == 3 and type(fields[0]) is type(fields[1]) is int and isinstance(fields[2], str)):
        raise ValueError(
            f"{where} is {str(entry)[:200]}; expected an object with start and end (numbers of characters) "
            "and type, or a list of these three."
        )
    if not fields[2].strip():
        raise ValueError(f"{where} has a blank type; name the kind of entity.")
    return Span(*fields)


def tag_words(
    text: str, words: Sequence[Word], spans: Sequence[Span], scheme: str, where: str
) -> tuple[str, ...]:
    """A tag for each word.

    Args:
      text: the text.
      words: its words in order.
      spans: its entities, in any order.
      scheme: of the tags; "auto" for IOB2.
      where: file and line, for errors.

    Raises:
      ValueError: for a span that leaves the text, is empty, overlaps another, cuts a word or holds none.
    """
    tags, before = [OUTSIDE] * len(words), None
    for span in sorted(spans):
        shown = f"{where}: the span {span.start} to {span.end} ({span.type})"
        if not 0 <= span.start < span.end <= len(text):
            raise ValueError(f"{shown} is not inside the text, which has {len(text)} characters.")
        if before and span.start < before.end:
            raise ValueError(f"{shown} overlaps {before.start} to {before.end} ({before.type}).")
        inside = _words_inside(words, span, shown)
        for number, index in enumerate(inside):
            tags[index] = f"{'I' if number else 'B'}-{span.type}"
        before = span
    return from_iob2(tags, scheme) if scheme in ("iob1", "bioes") else tuple(tags)


def _words_inside(words, span, shown):
    """The positions of the words of a span."""
    touched = [index for index, word in enumerate(words) if word.start < span.end and word.end > span.start]
    for index in touched:
        word = words[index]
        if word.start < span.start or word.end > span.end:
            raise ValueError(
                f"{shown} cuts through the word {word.text!r} at {word.start} to {word.end}; move its ends "
                "to those of words."
            )
    if not touched:
        raise ValueError(f"{shown} holds no word.")
    return touched
