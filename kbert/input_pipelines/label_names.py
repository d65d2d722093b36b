"""The labels of a whole file: their order, and which of them a person would take for one."""

import collections
import re
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal

from absl import logging

_MOST_SHOWN = 5
# Letters of Cyrillic and Greek that look like Latin ones, and marks that stand for each other.
_SAME_SHAPE = str.maketrans(
    "АВЕКМНОРСТУХІЈЅасеорухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧο‐‑‒–—−‘’ʼ“”",
    "ABEKMHOPCTYXIJSaceopyxijsABEZHIKMNOPTYXo------'''\"\"",
)
# Code points that are not seen though their category is not Cf or Cc: joiners, fillers, variation selectors.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | {chr(c) for c in range(0xFE00, 0xFE10)}


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once, sorted; numbers sort as numbers, with signs and fractions: -1, 0, +1, 2.0, 10."""
    labels = set(labels)
    numbers = {label: _number(label) for label in labels}
    if None not in numbers.values():
        return tuple(sorted(labels, key=lambda label: (numbers[label], label)))
    return tuple(sorted(labels))


def complete_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels of a file, see `sorted_labels`, once it is certain that each is one class.

    Args:
      labels: those of all rows, as often as they stand there.

    Raises:
      ValueError: as `require_distinct` does, and for -1 or "-" as marks of rows without a label.
    """
    counts = collections.Counter(labels)
    require_distinct(counts)
    _judge_signs(counts)
    return sorted_labels(counts)


def require_distinct(counts: Mapping[str, int]):
    """Refuses labels that mean the same, and warns of those that may.

    What cannot be told apart on a screen was not meant as two classes, and neither was a number or a truth
    value that was written in two ways: an error. Capitals, hyphens and leading zeros, as codes have them, may
    be meant: a warning.

    Args:
      counts: label -> how often it is there.

    Raises:
      ValueError: with the pairs, how often each label is there, and the code points in which they differ.
    """
    same = _pairs(counts, _sameness)
    if same:
        raise ValueError(
            f"{_shown_pairs(same, counts)}. Write each label in one way, or list both in dataset.labels if "
            "they are two."
        )
    if near := _pairs(counts, _nearness):
        logging.warning(
            "%s. They are learned as different labels; if they mean the same, write them in one way.",
            _shown_pairs(near, counts),
        )


def find_twin(label: str, labels: Iterable[str]) -> str | None:
    """One of the labels that may mean the same as this; None if none does."""
    return next((other for other in labels if _nearness(other) == _nearness(label)), None)


def code_points(label: str, other: str) -> str:
    """The code points of a label in which it differs from another, such as "U+200B"."""
    begin = 0
    while begin < min(len(label), len(other)) and label[begin] == other[begin]:
        begin += 1
    end = 0
    while end < min(len(label), len(other)) - begin and label[-1 - end] == other[-1 - end]:
        end += 1
    return " ".join(f"U+{ord(character):04X}" for character in label[begin : len(label) - end])


def _shape(label):
    """What is seen of a label."""
    seen = (c for c in unicodedata.normalize("NFKC", label) if c not in _UNSEEN)
    bare = "".join(c for c in seen if c.isspace() or unicodedata.category(c) not in ("Cf", "Cc"))
    return " ".join(bare.translate(_SAME_SHAPE).split())


def _number(label):
    """The number that a label is; None for other texts."""
    shape = _shape(label)
    return Decimal(shape) if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", shape) else None


def _sameness(label):
    """Equal for labels that mean the same without doubt."""
    shape, number = _shape(label), _number(label)
    if number is not None:
        leading = re.match(r"[+-]?(0*)(?=[0-9])", shape)
        return number, leading and leading[1]
    return shape.lower() if shape.lower() in ("true", "false") else shape


def _nearness(label):
    """Equal for labels that may mean the same."""
    shape, number = _shape(label), _number(label)
    return re.sub(r"(?<=\w)[-_ ]+(?=\w)", " ", shape.lower()) if number is None else number


def _pairs(labels, key):
    """Each label with the most frequent one of the same key."""
    groups = collections.defaultdict(list)
    for label in sorted(labels, key=lambda label: (-labels[label], label)):
        groups[key(label)].append(label)
    return [(group[0], other) for group in groups.values() for other in group[1:]]


def _shown_pairs(pairs, counts):
    shown = "; ".join(
        f"the labels {_shown(one, other, counts)} and {_shown(other, one, counts)} {_likeness(one, other)}"
        for one, other in pairs[:_MOST_SHOWN]
    )
    return shown + (f"; and {len(pairs) - _MOST_SHOWN} pairs more" if len(pairs) > _MOST_SHOWN else "")


def _shown(label, other, counts):
    points = code_points(label, other) if _shape(label) == _shape(other) else ""
    times = f"{counts[label]:,} time{'s' * (counts[label] != 1)}"
    return f"{label[:200]!r} ({times}{points and f', with {points[:200]}'})"


def _likeness(label, other):
    if label.strip() == other.strip():
        return "differ only in blanks at their ends"
    if _shape(label) == _shape(other):
        return "look alike"
    if _number(label) is not None:
        return "are the same number"
    if _shape(label).lower() == _shape(other).lower():
        return "differ only in capitals"
    return "differ only in hyphens, underscores or blanks"


def _judge_signs(counts):
    """Refuses "-" and -1 as classes where they mark rows without a label.

    SNLI writes "-" and Hugging Face's `datasets` -1. They are classes beside "+" and +1, and -1 also beside
    other negative numbers.
    """
    if "-" in counts and "+" not in counts:
        raise ValueError(_sign_for_none("-", counts, "as in SNLI"))
    numbers = sorted({_number(label) for label in counts} - {None})
    if not numbers or None in map(_number, counts) or numbers[0] != -1 or numbers == [-1, 1]:
        return
    minus_one = next(label for label in counts if _number(label) == -1)
    why = _sign_for_none(minus_one, counts, "as `datasets` writes it")
    if numbers != [-1, 0, 1]:
        raise ValueError(why)
    logging.warning("%s It is learned as a class.", why)


def _sign_for_none(label, counts, known):
    return (
        f"{counts[label]:,} of {sum(counts.values()):,} labels are {label!r}, {known} where a row has none. "
        "Leave these rows out by dataset.skip_unlabelled=true; or, if it is a class, list all labels in "
        "dataset.labels."
    )
