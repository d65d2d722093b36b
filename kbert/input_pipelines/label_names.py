"""Names of labels: their order, and which of them a person would take for one."""

import collections
import functools
import html
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal

from kbert.checks import require_order
from kbert.files.json_values import shown
from kbert.files.text_encoding import repaired

DASHES = ("-", "--")  # as `seen_text` gives them
# What marks a row without a label: -1 in `datasets`, -100 in PyTorch's losses (`ignore_index`).
NUMBERS_FOR_NONE = (-1, -100)
_MOST_SHOWN = 5
_TRUTH = {"false": "0", "true": "1"}
_ENDS = ".,:;'\" "  # what may stand around a label and mean nothing
# Letters of Cyrillic and Greek that look like Latin ones, and marks that stand for each other.
_SAME_SHAPE = str.maketrans(
    "АВЕКМНОРСТУХІЈЅасеорухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧο‐‑‒–—−‘’ʼ“”",
    "ABEKMHOPCTYXIJSaceopyxijsABEZHIKMNOPTYXo------'''\"\"",
)
# Code points that are not seen though their category is not Cf or Cc: joiners, fillers, variation selectors.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | {chr(c) for c in range(0xFE00, 0xFE10)}
_TAGS = frozenset(map(chr, range(0xE0020, 0xE0080)))  # in the flags of England, Scotland, Wales
_SEEN = re.compile("[^\\W\u115f\u1160\u3164\uffa0]")  # letters and digits, but for fillers


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once, sorted; numbers sort as numbers, with signs and fractions: -1, 0, +1, 2.0, 10."""
    labels = set(labels)
    numbers = {label: as_number(label) for label in labels}
    if None not in numbers.values():
        return tuple(sorted(labels, key=lambda label: (numbers[label], label)))
    return tuple(sorted(labels))


def require_label_names(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of a task as a tuple. ValueError for a text, whose letters would be labels, for a set or a
    dict, for what are no texts, and for an empty one, which answers have in the place of a label that does
    not hold."""
    require_order(labels, "labels")
    names = labels if isinstance(labels, str) else tuple(labels)
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(
            f"labels={shown(names)}: expected the names of the labels in a list, each a text, none empty."
        )
    return names


def find_twin(label: str, labels: Iterable[str]) -> str | None:
    """One of the labels that may mean the same as this; None if none does."""
    return next((other for other in labels if _nearness(other) == _nearness(label)), None)


def code_points(label: str, other: str) -> str:
    """The code points of a label in which it differs from another, such as "U+200B"."""
    begin = len(os.path.commonprefix([label, other]))
    end = len(os.path.commonprefix([label[begin:][::-1], other[begin:][::-1]]))
    return " ".join(f"U+{ord(character):04X}" for character in label[begin : len(label) - end])


@functools.lru_cache(maxsize=4096)  # a file has few labels and many rows
def seen_text(label: str) -> str:
    """What is seen of a label: composed, without invisible characters, with usual blanks and hyphens."""
    seen = (c for c in unicodedata.normalize("NFKC", label) if c not in _UNSEEN)
    bare = "".join(
        c for c in seen if c.isspace() or c in _TAGS or unicodedata.category(c) not in ("Cf", "Cc")
    )
    return " ".join(bare.translate(_SAME_SHAPE).split())


def is_seen(text: str) -> bool:
    """Whether `seen_text` has anything of a text, which may be long."""
    return bool(_SEEN.search(text) or seen_text(text))


def as_number(label: str) -> Decimal | None:
    """The number that a label is; None for other texts."""
    seen = seen_text(label)
    # An exponent as programs write it, with its sign: "1e2" may be a code.
    return Decimal(seen) if re.fullmatch(r"[+-]?\d+(\.\d*)?([eE][+-]\d{1,3})?", seen) else None


def same_labels(counts: Mapping[str, int]) -> str:
    """A sentence on the labels that mean the same without doubt; "" without any. See `judge_labels`."""
    return _shown_pairs(_pairs(counts, _sameness), counts)


def near_labels(counts: Mapping[str, int]) -> str:
    """A sentence on the labels that may mean the same; "" without any."""
    return _shown_pairs(_pairs(counts, _nearness), counts)


def _sameness(label):
    """Equal for labels that mean the same without doubt."""
    seen = seen_text(label)
    seen = _TRUTH.get(seen.lower(), seen)
    number = as_number(seen)
    if number is not None:
        leading = re.match(r"[+-]?(0*)(?=\d)", seen)
        return number, leading and leading[1]
    return seen


def _nearness(label):
    """Equal for labels that may mean the same."""
    number = _number_between_marks(label)
    if number is not None:
        return number
    seen = seen_text(repaired(html.unescape(label))).lower()
    return re.sub(r"(?<=\w)[-_ ]+(?=\w)", " ", seen.strip(_ENDS) or seen)


def _number_between_marks(label):
    bare = seen_text(label).rstrip(_ENDS).lstrip(_ENDS.strip(".,"))  # ".5" is not 5
    return as_number(bare.replace(",", "."))


def _pairs(labels, key):
    """Each label with the most frequent one of the same key."""
    groups = collections.defaultdict(list)
    for label in sorted(labels, key=lambda label: (-labels[label], label)):
        groups[key(label)].append(label)
    return [(group[0], other) for group in groups.values() for other in group[1:]]


def _shown_pairs(pairs, counts):
    shown = "; ".join(
        f"the labels {_shown(label, other, counts)} and {_shown(other, label, counts)} "
        f"{_likeness(label, other)}"
        for label, other in pairs[:_MOST_SHOWN]
    )
    return shown + (f"; and {len(pairs) - _MOST_SHOWN} pairs more" if len(pairs) > _MOST_SHOWN else "")


def _shown(label, other, counts):
    points = code_points(label, other) if seen_text(label) == seen_text(other) else ""
    times = f"{counts[label]:,} time{'s' * (counts[label] != 1)}"
    return f"{label[:200]!r} ({times}{points and f', with {points[:200]}'})"


def _likeness(label, other):
    if label.strip() == other.strip():
        return "differ only in blanks at their ends"
    if seen_text(label) == seen_text(other):
        return "look alike"
    if seen_text(label).lower() == seen_text(other).lower():
        unseen = "" if label.lower() == other.lower() else " and in blanks or characters that are not seen"
        return f"differ only in capitals{unseen}"
    if (html.unescape(label), html.unescape(other)) != (label, other):
        return "differ only in how HTML writes them"
    if seen_text(repaired(label)) == seen_text(repaired(other)):
        return "differ only in their encoding: UTF-8 was read as another one and saved"
    if seen_text(label).strip(_ENDS).lower() == seen_text(other).strip(_ENDS).lower():
        return "differ only in marks at their ends"
    if {seen_text(label).lower(), seen_text(other).lower()} & {*_TRUTH}:
        return "are the same truth value"
    if _number_between_marks(label) is not None or _number_between_marks(other) is not None:
        return "are the same number"
    return "differ only in hyphens, underscores or blanks"
