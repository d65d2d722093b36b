"""The kinds of content that a page of an evaluation is made of. Plain data: a task says what, reports how.

All texts are plain text. Whoever draws them escapes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LONGEST_TEXT = 1500  # characters of a text on a page


@dataclass(frozen=True)
class Counts:
    """A square table of counts, such as a confusion matrix: rows true, columns given.

    Args:
      names: the names of rows and columns.
      counts: nested lists of ints of shape (names, names).
    """

    names: tuple[str, ...]
    counts: list[list[int]]


@dataclass(frozen=True)
class Numbers:
    """A table: the first column is text, the others are numbers.

    Args:
      heads: the names of the columns.
      rows: the cells, as texts.
    """

    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Bar(NamedTuple):
    """A horizontal bar: its name, how long it is from 0 to 1, and the value to write beside it."""

    name: str
    share: float
    text: str


@dataclass(frozen=True)
class Bars:
    """Horizontal bars below one another."""

    bars: list[Bar]


@dataclass(frozen=True)
class Reliability:
    """How often answers of like confidence are right; see `calibration.reliability`.

    Args:
      confidences, accuracies: the mean of each bin, from 0 to 1, in the order of the bins; 0 in an empty one.
      counts: how many answers each bin holds.
    """

    confidences: list[float]
    accuracies: list[float]
    counts: list[int]


@dataclass(frozen=True)
class Scatter:
    """Points in a square.

    Args:
      points: pairs (x, y).
      x_name, y_name: the names of the axes, which have the same scale.
    """

    points: list[tuple[float, float]]
    x_name: str
    y_name: str


class Mark(NamedTuple):
    """A marked stretch of a text, from character `start` up to `end`.

    `kind` is "right", "wrong", or a number for one of the colours, as types of entities have. `name` is
    written behind the stretch; it may be empty.
    """

    start: int
    end: int
    kind: str | int
    name: str = ""


class MarkedText(NamedTuple):
    """A text with marks, which do not overlap and are in order, and what it is, such as "right"."""

    name: str
    text: str
    marks: tuple[Mark, ...] = ()


class Fact(NamedTuple):
    """A value beside its name; `is_right` colours it, None leaves it as it is."""

    name: str
    value: str
    is_right: bool | None = None


class Card(NamedTuple):
    """One example: its texts, and what is to be known of it."""

    texts: tuple[MarkedText, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Cards:
    """Examples below one another, the most important first: where a page is full, the last are left out."""

    cards: list[Card]


Content = Counts | Numbers | Bars | Reliability | Scatter | Cards


class Section(NamedTuple):
    """A part of a page: its heading, a sentence that says what it shows, and its content."""

    title: str
    note: str
    content: Content


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    """The beginning of a text, with "…" where it was cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def excerpt(marked: MarkedText) -> MarkedText:
    """The stretch of a marked text around its first mark, at most LONGEST_TEXT characters and two "…".

    Marks that are not wholly inside the stretch are cut or left out.
    """
    text = marked.text
    if len(text) <= LONGEST_TEXT:
        return marked
    first = marked.marks[0].start if marked.marks else 0
    start = max(0, min(first - LONGEST_TEXT // 3, len(text) - LONGEST_TEXT))
    end = start + LONGEST_TEXT
    before, after = "…" if start else "", "…" if end < len(text) else ""
    shift = len(before) - start
    marks = tuple(
        mark._replace(start=max(mark.start, start) + shift, end=min(mark.end, end) + shift)
        for mark in marked.marks
        if mark.start < end and mark.end > start
    )
    return MarkedText(marked.name, before + text[start:end] + after, marks)
