"""Rows of a labelled file that are there twice, and texts that stand under several labels."""

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from kbert.files.json_values import shown

_SHARE = 10
_SHOWN = 60  # characters of a text
# Of Unicode's format characters those that are seen nowhere: soft hyphens, joiners, signs of direction.
_UNSEEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def in_one_form(text: str) -> str:
    """A text in Unicode's form NFC, without characters that nobody sees: what looks the same is the same."""
    return text if text.isascii() else unicodedata.normalize("NFC", _UNSEEN.sub("", text))


def without_capitals(text: str) -> str:
    """A text in small letters: İ is i, without the dot that Unicode keeps and an uncased model drops."""
    return text.casefold().replace("i\u0307", "i")


def as_read(text: str, fold: Callable[[str], str] = without_capitals) -> str:
    """A text as a person and an uncased model read it: `in_one_form`, without capitals, a blank for each
    stretch of blanks and line ends.

    Args:
      text: the text.
      fold: what makes capitals equal to small letters; `str` for a comparison that tells them apart.
    """
    read = fold(" ".join(in_one_form(text).split()))
    return text if read == text else read  # no copy of most


def hashes_as_read(fold: Callable[[str], str] = without_capitals) -> Callable[[Any], Any]:
    """A function from what an example holds to the same with a hash in the place of each text: equal ones for
    texts that `as_read` makes equal. Copies of all texts would fill the memory. One that examples share, such
    as the context of questions, is read once."""
    hashed = functools.cache(lambda text: hash(as_read(text, fold)))

    def replaced(value):
        if isinstance(value, tuple):
            parts = map(replaced, value)
            return value._make(parts) if hasattr(value, "_make") else tuple(parts)
        return hashed(value) if isinstance(value, str) else value

    return replaced


def shared_rows(train: Sequence[tuple], dev: Sequence[tuple]) -> str | None:
    """A sentence on examples for evaluation that are trained on as well, two texts in either order; None for
    a tenth of them at most."""
    read = hashes_as_read()

    def content(example):
        *texts, label = example
        if len(texts) == 1 and isinstance(texts[0], tuple):
            (texts,) = texts
        hashes = read(tuple(texts))
        return hash((frozenset(hashes) if len(hashes) == 2 else hashes, label))

    read_train, read_dev = ([*map(content, examples)] for examples in (train, dev))
    number = sum(map({*read_train}.__contains__, read_dev))
    if number * _SHARE <= len(dev):
        return None
    return (
        f"{number:,} of {len(dev):,} examples for evaluation are also training examples (ignoring "
        "capitals, blanks and the order of two texts): scores on them say little about other texts"
    )


def repetitions(examples: Sequence[tuple]) -> tuple[str | None, str | None]:
    """Sentences about a training file, before the training: (about repeated rows, about contradicting ones).

    Args:
      examples: tuples of texts, and at the end the label. Different numbers for the same texts are no
        contradiction, because people who rate texts differ, and so do teachers, who give several. Blanks
        tell no texts apart, capitals do: they may be what a label is about.

    Returns:
      A sentence each, or None where there is nothing of the kind.
    """
    read = hashes_as_read(str)
    labels: dict[int, dict] = {}  # hash of texts -> their labels, each with an example
    for example in examples:
        *texts, label = example
        labels.setdefault(hash(read(tuple(texts))), {})[label] = example
    repeated = len(examples) - sum(map(len, labels.values()))
    duplicates = f"{repeated:,} of {len(examples):,} rows repeat an earlier one" if repeated else None
    several = [known for known in labels.values() if len(known) > 1]
    if not several or _are_numbers(examples[0][-1]):
        return duplicates, None
    known = (list(label) if isinstance(label, tuple) else label for label in several[0])
    first = " and ".join(sorted(map(shown, known))[:3])
    text = next(iter(several[0].values()))[0]
    return duplicates, (
        f"{len(several):,} text(s) have several labels or answers, as {text[:_SHOWN]!r} has {first}"
        "; if these are slips, fix them: the model cannot learn both"
    )


def _are_numbers(label) -> bool:
    numbers = label if isinstance(label, tuple) else (label,)
    return bool(numbers) and all(isinstance(number, float | None) for number in numbers)
