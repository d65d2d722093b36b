"""Entities as spans of characters -> a tag for each word of their text."""

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.input_pipelines.json_rows import json_type
from kbert.input_pipelines.labels import require_accepted
from kbert.input_pipelines.text_offsets import offset_advice, same_words
from kbert.tasks.token_classification.tag_schemes import OUTSIDE, SCHEMES, from_iob2
from kbert.tokenization.character_classes import IDEOGRAPHS, in_python


class Word(NamedTuple):
    """A word of a text, with its position in code points."""

    text: str
    start: int
    end: int


class Span(NamedTuple):
    """An entity of a text, with its position in code points; `text` is what should stand there, if known."""

    start: int
    end: int
    type: str
    text: str | None = None


# What tools call the fields of a span: Doccano, Label Studio, Prodigy, spaCy, Rasa, transformers' pipelines.
_STARTS, _ENDS = ("start", "start_offset"), ("end", "end_offset")
_TYPES = ("type", "label", "labels", "entity", "entity_group")
_LISTS = ("entities", "spans")
_TAG = re.compile(r"([BIESLUM])-(.+)")
_IDEOGRAPH = re.compile(f"[{in_python(IDEOGRAPHS)}]")
_EMOJI = re.compile("[\U00010000-\U0010ffff]")  # and others that UTF-16 has in two units
_CODE_POINTS = "offsets count characters (code points), and an emoji is one, in JavaScript and Java two"


def parse_spans(value: Any, where: str) -> list[Span]:
    """The spans of a JSON value: a list of objects with a start, an end and a type, or of [start, end, type].

    Names of the fields are those of `_STARTS`, `_ENDS` and `_TYPES`. A span with a `text` is checked by it.
    spaCy's {"entities": [...]} is read as its list, and an object of lists as `datasets` has it as well.

    Raises:
      ValueError: naming `where`, for anything else.
    """
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if name in value), value)
    if isinstance(value, dict) and value and all(isinstance(field, list) for field in value.values()):
        fields = value.values()
        if len({*map(len, fields)}) == 1:
            value = [dict(zip(value, span, strict=True)) for span in zip(*fields, strict=True)]
    if not isinstance(value, list):
        raise ValueError(f"{where} has a JSON {json_type(value)} as its spans; expected a list of spans.")
    return [_parse_span(entry, f"{where}, span {number}") for number, entry in enumerate(value, start=1)]


def _parse_span(entry, where):
    if isinstance(entry, dict):
        require_accepted(entry, where)
        fields = [entry[name] for names in (_STARTS, _ENDS, _TYPES) for name in names if name in entry]
    else:
        fields = list(entry) if isinstance(entry, list) else []
    if len(fields) == 3 and isinstance(fields[2], list) and len(fields[2]) == 1:
        fields[2] = fields[2][0]
    if not (len(fields) == 3 and type(fields[0]) is type(fields[1]) is int and isinstance(fields[2], str)):
        raise ValueError(
            f"{where} is {str(entry)[:200]}; expected an object with start and end (numbers of characters) "
            "and type, or a list of these three."
        )
    if not fields[2].strip():
        raise ValueError(f"{where} has a blank type; name the kind of entity.")
    if fields[2] == OUTSIDE:
        raise ValueError(f"{where} has the type {OUTSIDE!r}, which means no entity; leave such spans out.")
    if re.fullmatch(r"[BI]-[A-Z]+", fields[2]):
        raise ValueError(f"{where} has the type {fields[2]!r}, the tag of a word; {_as_spans(fields[2][2:])}")
    text = entry.get("text") if isinstance(entry, dict) else None
    start, end, kind = fields
    return Span(start, end, kind, text if isinstance(text, str) else None)


def _as_spans(kind):
    return f"join the words of an entity to a span of the type {kind!r}, or give lists of words and tags."


def require_no_tags(types: Collection[str], where: str):
    """Raises ValueError where two types of the spans of a file are tags of one kind of entity, such as B-geo
    and I-geo. One alone, such as B-cell, is a type."""
    tags: dict[str, list[str]] = {}
    for name in sorted(types):
        if tag := _TAG.fullmatch(name):
            tags.setdefault(tag[2], []).append(name)
    for kind, names in tags.items():
        if len(names) > 1:
            shown = " and ".join(map(repr, names))
            raise ValueError(f"{where} has spans of the types {shown}, tags of words; {_as_spans(kind)}")


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
      ValueError: for a span that leaves the text, is empty, says another text than stands there, overlaps
        another, cuts a word or holds none.
    """
    tags, before = [OUTSIDE] * len(words), None
    for span in sorted(spans, key=lambda span: span[:3]):
        shown = f"{where}: the span {span.start} to {span.end} ({span.type})"
        _require_inside(span, text, shown)
        if before and span.start < before.end:
            raise ValueError(f"{shown} overlaps {before.start} to {before.end} ({before.type}).")
        is_behind_emoji = span.text is None and bool(_EMOJI.search(text, 0, span.start))
        if is_behind_emoji and _IDEOGRAPH.search(text, span.start, span.end):
            warn_once(
                "Spans without a text stand behind emoji, on ideographs: each of these is a word, so a wrong "
                f"offset cuts none. Here {_CODE_POINTS}. Write the text of each span beside it to have it "
                'compared: {"start": 1, "end": 3, "type": "LOC", "text": ...}.'
            )
        inside = _words_inside(words, span, shown, is_behind_emoji)
        for number, index in enumerate(inside):
            tags[index] = f"{'I' if number else 'B'}-{span.type}"
        before = span
    return from_iob2(tags, scheme) if scheme in SCHEMES else tuple(tags)


def _require_inside(span, text, shown):
    """Raises ValueError for a span that is not inside the text, or is about another part of it."""
    advice = offset_advice(text, span.text, span.start, span.end) if span.text else ""
    if not 0 <= span.start < span.end <= len(text):
        empty = " An end is the position after the last character." if span.start == span.end else ""
        raise ValueError(
            f"{shown} is not inside the text, which has {len(text)} characters.{advice or empty}"
        )
    held = text[span.start : span.end]
    if span.text is not None and not same_words(held, span.text):
        raise ValueError(
            f"{shown}: text[{span.start}:{span.end}] is {held[:80]!r}, the span says {span.text[:80]!r}; "
            f"offsets count characters (code points) from 0.{advice}"
        )


def _words_inside(words, span, shown, is_behind_emoji):
    """The positions of the words of a span."""
    touched = [index for index, word in enumerate(words) if word.start < span.end and word.end > span.start]
    for index in touched:
        word = words[index]
        if word.start < span.start or word.end > span.end:
            is_short = word.end == span.end + 1 and words[touched[0]].start == span.start
            advice = " If all spans of the file end a character early, add 1 to each end." if is_short else ""
            advice = f" Here {_CODE_POINTS}." if is_behind_emoji else advice
            raise ValueError(
                f"{shown} cuts through the word {word.text!r} at {word.start} to {word.end}; move its ends "
                f"to those of words.{advice}"
            )
    if not touched:
        raise ValueError(f"{shown} holds no word.")
    return touched
