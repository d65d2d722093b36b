"""What is wrong with the labels of a whole file: two for one meaning, none, too many."""

import collections
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.config import FinetuningConfig
from kbert.input_pipelines.label_lists import BETWEEN_TAGS
from kbert.input_pipelines.label_names import (
    DASHES,
    NUMBERS_FOR_NONE,
    as_number,
    near_labels,
    same_labels,
    seen_text,
)
from kbert.input_pipelines.labels import NO_VALUE

# Which names of labels seldom have inside: also Doccano's, and those of Chinese, Japanese and Arabic.
_STRONG_MARKS = ",;|#\uff0c\u3001\uff1b\u060c\u061b\t\n"
_LEAVE_OUT = "Leave these rows out by dataset.skip_unlabelled=true"
_CLASSES_ALONE = (
    "List the classes in dataset.labels: with it if it is one, else without it and with "
    "dataset.skip_unlabelled=true."
)
# Bytes, and scalars of NumPy and PyTorch.
_PRINTED = re.compile(r"""b'[^']*'|b"[^"]*"|(np\.\w+|tensor|tf\.Tensor|array)\([-\d\['"].*\)""")
_TAGS = re.compile(r"(<[^<>]+>)+")  # of Stack Overflow
_NAME_AND_BIT = re.compile(r"(.+)[_:=][01]", re.DOTALL)
# What SPSS, R and spreadsheets write where a number is missing, far away from the others.
_FAR_NUMBERS = frozenset((-9999, -999, -99, 99, 999, 9999))
_MANY = 20  # different labels, of which more than half occur once: these are words or numbers


def with_judged_labels(
    examples: Iterable, labels_of: Callable, judge: Callable, path: str | Path
) -> Iterator:
    """Yields the examples of a file; after the last one its labels are judged.

    Args:
      examples: all of the file.
      labels_of: function from an example to its labels, as often as it has them.
      judge: function from (label -> how often it is there, the file), such as `judge_labels`.
      path: the file, for messages.
    """
    counts: collections.Counter[str] = collections.Counter()
    for example in examples:
        for label in labels_of(example):  # faster than `update`
            counts[label] += 1
        yield example
    judge(counts, path)


def with_judged_label_sets(examples: Iterable, labels_of: Callable, path: str | Path) -> Iterator:
    """Yields the examples of a file with several labels each; after the last one, they are judged by
    `judge_several_labels`. The arguments are those of `with_judged_labels`."""
    are_apart = False

    def noted(example):
        nonlocal are_apart
        labels = labels_of(example)
        are_apart |= len(labels) > 1
        return labels

    def judge(counts, path):
        judge_several_labels(counts, path, are_apart)

    return with_judged_labels(examples, noted, judge, path)


def with_judged_numbers(
    read: Callable, number_of: Callable, skip_unlabelled: bool, path: str | Path
) -> Iterator:
    """Yields the examples of a file of numbers; those that mark rows without one, such as -1 beside 0 to 5,
    are left out where `skip_unlabelled`, else warned of. Warns of those of `_FAR_NUMBERS` that are nine
    times as far from 0 as all others.

    Args:
      read: function that gives the examples, from the first on each time.
      number_of: function from an example to its number, or None.
      skip_unlabelled: that of the dataset.
      path: the file, for messages.
    """

    def as_labels(example):
        number = number_of(example)
        return () if number is None else (_judged_as(number),)

    if skip_unlabelled:
        examples = without_marks(read, as_labels, path, are_classes=False)
    else:
        examples = with_judged_labels(read(), as_labels, _warn_of_marks, path)
    return _with_far_numbers_said(examples, number_of, path)


def _with_far_numbers_said(examples, number_of, path):
    far, largest = collections.Counter(), 0.0
    for example in examples:
        number = number_of(example)
        if number in _FAR_NUMBERS:
            far[number] += 1
        elif number is not None:
            largest = max(largest, abs(number))
        yield example
    if marks := [number for number in far if abs(number) > 9 * largest > 0]:
        shown = ", ".join(f"{far[number]:,} of the labels are {number:g}" for number in marks)
        warn_once(
            f"{path}: {shown}, and all others at most {largest:g}: does that stand where there is none? "
            "They are read as numbers; leave these rows out if they have none."
        )


def warn_of_one_number(config: FinetuningConfig, numbers: list, name: str, advice: str):
    """Warns of several numbers to learn that are all the same: a constant answers them, whatever the texts.

    Args:
      config: the training's; with a teacher, whose numbers differ, nothing is said.
      numbers: those of all training examples.
      name: what they are, "scores" or "labels".
      advice: what to do about them.
    """
    if len(numbers) > 1 and min(numbers) == max(numbers) and not config.distillation:
        warn_once(
            f"all {len(numbers):,} {name} of the training are {numbers[0]:g}: one answer, whatever the "
            f"texts, is always right then, and a model learns no more than that; {advice}."
        )


def _judged_as(number) -> str:
    """The number, or one of few that tell as much to `_mark_of_none`: a file may have a million of them.

    Up to 1 all are 1, beside which -1 is the other end of the scale.
    """
    if number in NUMBERS_FOR_NONE:
        return str(int(number))
    return "-2" if number < 0 else "1" if number <= 1 else "2"


def _warn_of_marks(counts, path):
    if mark := _mark_of_none(counts):
        sentence = _sentence_of_mark(path, mark, counts, f"{_LEAVE_OUT}, if they have none.")
        warn_once(f"{sentence} They are read as numbers.")


def without_marks(
    read: Callable, labels_of: Callable, path: str | Path, are_classes: bool = True
) -> Iterator:
    """Yields the examples of a file but for those whose labels mark that there is none, such as "-".

    The whole file tells which labels do, so it is read twice.

    Args:
      read: function that gives the examples, from the first on each time.
      labels_of: function from an example to its labels, as often as it has them.
      path: the file, for messages.
      are_classes: whether labels may be listed.

    Raises:
      ValueError: where -1 may be either, and where no example is left.
    """
    counts = collections.Counter(label for example in read() for label in labels_of(example))
    marks: dict[str, int] = {}
    while mark := _mark_of_none(counts):
        if not mark.is_sure:
            raise ValueError(_sentence_of_mark(path, mark, counts, _CLASSES_ALONE))
        marks[mark.label] = counts.pop(mark.label)
    if marks:
        shown = ", ".join(f"{times:,} of the labels are {mark!r}" for mark, times in marks.items())
        shown += ", as files mark rows without one"
        if not counts:
            raise ValueError(f"{path}: no row has a label: {shown}.")
        advice = " If it is a class, list all labels in dataset.labels." * are_classes
        warn_once(f"{path}: {shown}; these are left out.{advice}")
    yield from (example for example in read() if marks.keys().isdisjoint(labels_of(example)))


def judge_labels(
    counts: Mapping[str, int], path: str | Path, mend: str = _LEAVE_OUT, may_be_rare: bool = False
):
    """Refuses labels that mean the same or nothing, and warns of those that may.

    What cannot be told apart on a screen was not meant as two classes, and neither was a number or a truth
    value that was written in two ways: an error. Capitals, hyphens and leading zeros, as codes have them, may
    be meant: a warning.

    Args:
      counts: label -> how often it is in the file.
      path: the file, for messages.
      mend: what to do about marks of no label.
      may_be_rare: whether many labels may be there once, as among several of a row and types of entities.

    Raises:
      ValueError: with the pairs, how often each label is there, and the code points in which they differ; for
        "-" and -1 as marks of rows without a label; for many labels of which each is there once; for labels
        in quotation marks.
    """
    _require_repeated(counts, path, may_be_rare)
    _require_bare(counts, path)
    if same := same_labels(counts):
        raise ValueError(
            f"{path}: {same}. Write each label in one way, or list both in dataset.labels if they are two."
        )
    if near := near_labels(counts):
        warn_once(
            f"{path}: {near}. They are learned as different labels; if they mean the "
            "same, write them in one way."
        )
    _judge_signs(counts, path, mend)


def mostly_once(counts: Mapping[str, int]) -> int:
    """How many labels are there once, where these are more than half of twenty or more; else 0."""
    once = sum(number == 1 for number in counts.values())
    return once if 2 * once > len(counts) >= _MANY else 0


def _require_repeated(counts, path, may_be_rare):
    """Refuses texts or numbers of any kind in the place of classes; warns where some are there twice."""
    once, number = mostly_once(counts), len(counts)
    if not once or (may_be_rare and once < number):
        return
    first = ", ".join(repr(label[:80]) for label in [label for label in counts if counts[label] == 1][:3])
    are_numbers = None not in map(as_number, counts)
    advice = ' If they are numbers to learn, set task = "sequence_regression".' if are_numbers else ""
    sentence = (
        f"{path}: {once:,} of {number:,} labels are there once ({first}, ...), as classes seldom are. Is "
        f"dataset.label the column of the labels?{advice}"
    )
    if once == number:
        raise ValueError(sentence)
    warn_once(sentence)


def _require_no_fractions(counts, path):
    fraction = None
    for label in counts:
        number = as_number(label)
        if number is None:
            return
        if number != number.to_integral_value():
            fraction = label
    if fraction:
        raise ValueError(
            f"{path}: all labels are numbers, one of them {fraction!r}, which is a label for regression: set "
            'task = "sequence_regression", or list all in dataset.labels if they are classes.'
        )


def _require_bare(counts, path):
    """Refuses labels with the quotation marks of a file around them, and values that Python printed."""
    quoted = next(filter(_in_marks('"'), counts), None)
    if quoted or (counts and all(map(_in_marks("'"), counts))):  # 'n' may be a name beside others
        quoted = quoted or next(iter(counts))
        advice = (
            "TSV is read without quoting; for a file with quotes set dataset.file_format=csv and "
            "dataset.delimiter='\\t'"
            if quoted[0] == '"'
            else "Write the labels without them"
        )
        raise ValueError(
            f"{path}: the label {quoted[:200]!r} stands in quotation marks. {advice}; if the marks are part "
            "of the labels, list all in dataset.labels."
        )
    if printed := next(filter(_PRINTED.fullmatch, counts), None):
        raise ValueError(
            f"{path}: the label {printed[:200]!r} is a value as Python prints it. Write the label itself, of "
            'bytes their .decode("utf-8"); if it is meant so, list all in dataset.labels.'
        )


def _in_marks(mark):
    return lambda label: len(label) > 2 and label[0] == label[-1] == mark


def judge_classes(counts: Mapping[str, int], path: str | Path):
    """Judges the labels of rows with one of them; warns of one that is made of others.

    Raises:
      ValueError: as `judge_labels` does; for numbers with fractions, which are labels for regression.
    """
    _require_no_fractions(counts, path)
    judge_labels(counts, path)
    for sentence, mark in itertools.islice(_made_of_others(counts, _STRONG_MARKS), 1):
        warn_once(
            f"{path}: {sentence}. It is learned as a label of its own; for texts with several labels set "
            f'task = "multi_label_classification" and dataset.label_separator={mark!r}.'
        )


def judge_several_labels(counts: Mapping[str, int], path: str | Path, are_apart: bool = False):
    """Judges the labels of rows with several of them; warns of labels that share parts between strong marks.

    Args:
      counts: label -> how often it is there.
      path: the file, for messages.
      are_apart: whether a row has several, as lists have them, or between separators. Then a blank or a slash
        may stand in a name that consists of others, such as "pop rock" and "Action/Adventure": it is said.

    Raises:
      ValueError: as `judge_labels` does; for a label that is made of others, which were not separated; for
        zeros and ones in the place of names.
    """
    _require_no_bits(counts, path)
    _require_separated(counts, path, are_apart)
    judge_labels(counts, path, may_be_rare=True)
    for mark in _STRONG_MARKS:
        marked = [label for label in counts if mark in label]
        parts = collections.Counter(part.strip() for label in marked for part in set(label.split(mark)))
        if any(times > 1 for part, times in parts.items() if part):  # not C# and F#
            warn_once(
                f"{path}: {len(marked):,} of {len(counts):,} labels have {mark!r} inside and share parts, as "
                f"{marked[0][:80]!r}. If it separates several labels, set dataset.label_separator={mark!r}."
            )


def _require_no_bits(counts, path):
    """Refuses texts with a 0 or 1 for each label, and names with a 0 or 1 each, as "a_0" and "a_1"."""
    lengths = {*map(len, counts)}
    if len(lengths) == 1 < max(lengths) and not "".join(counts).strip("01") and min(counts)[0] == "0":
        raise ValueError(
            f"{path}: the label {min(counts)!r} looks like a 0 or 1 for each of {max(lengths)} labels: name "
            "these, in their order, in dataset.labels."
        )
    totals = collections.Counter[str]()
    for part in filter(None, map(_NAME_AND_BIT.fullmatch, counts)):
        totals[part[1]] += counts[part[0]]
    have_both = 1 < len(totals) < len(counts) and totals.total() == sum(counts.values())
    if have_both and len({*totals.values()}) == 1:
        raise ValueError(
            f"{path}: each of the names {', '.join(map(repr, totals))[:200]} is in all rows, with a 0 or 1 "
            f"behind it, as in {next(iter(counts))!r}; write those with 1 alone, without it."
        )


def _require_separated(counts, path, are_apart):
    tags = [label for label in counts if _TAGS.fullmatch(label)]
    if len(tags) == len(counts) and (several := [label for label in tags if BETWEEN_TAGS in label]):
        raise ValueError(
            f"{path}: the label {several[0][:200]!r} is several in <>; set "
            f"dataset.label_separator={BETWEEN_TAGS!r}."
        )
    for sentence, mark in _made_of_others(counts, _STRONG_MARKS if are_apart else f"{_STRONG_MARKS}/ "):
        raise ValueError(
            f"{path}: {sentence}; set dataset.label_separator={mark!r}, or list all labels in dataset.labels "
            "if it is one."
        )
    for sentence, _ in itertools.islice(_made_of_others(counts, "/ "), 1):
        warn_once(f"{path}: {sentence}. It is learned as a label of its own.")


def _made_of_others(counts, marks) -> Iterator[tuple[str, str]]:
    """(what it is made of, as a sentence; the mark between them) of labels that are other labels, joined."""
    for label in counts:
        for mark in marks:
            parts = [part.strip() for part in label.split(mark)]
            if len(parts) > 1 and all(part in counts for part in parts):
                shown = ", ".join(map(repr, parts))[:200]
                yield f"the label {label[:200]!r} ({counts[label]:,}) is made of the labels {shown}", mark


class _Mark(NamedTuple):
    """A label that marks rows without one, who writes it so, and whether it cannot be a class."""

    label: str
    writer: str
    is_sure: bool


def _mark_of_none(counts):
    """The `_Mark` among labels, "-", -1, -100 or, of words, one of `NO_VALUE`; None where there is none.

    SNLI writes "-" and Hugging Face's `datasets` -1. They are classes beside "+" and +1, and numbers
    beside negative ones other than these; beside 0 and 1, -1 may be either.
    """
    dash = next((label for label in counts if seen_text(label) in DASHES), None)
    if dash and "+" not in counts:
        return _Mark(dash, "as in SNLI", True)
    if empty := next(filter(NO_VALUE.__contains__, counts), None):
        return _Mark(empty, "as programs write it", True)
    numbers = sorted({number for label in counts if (number := as_number(label)) is not None})
    least, others = next(iter(numbers), 0), numbers[1:]
    is_mark = least in NUMBERS_FOR_NONE and others != [-least]
    is_mark = is_mark and all(other >= 0 or other in NUMBERS_FOR_NONE for other in others)
    has_names = None in map(as_number, counts)  # of classes: beside them one negative number is none
    if not is_mark or (has_names and others):
        return None
    mark = next(label for label in counts if as_number(label) == least)
    writer = "as `datasets` writes it" if least == -1 else "as PyTorch's losses pass it over"
    return _Mark(mark, writer, numbers != [-1, 0, 1])


def _judge_signs(counts, path, mend):
    """Refuses "-", -1 and -100 as classes where they mark rows without a label; warns where -1 may."""
    if not (mark := _mark_of_none(counts)):
        return
    listed = f"{mend}; or, if it is a class, list all labels in dataset.labels."
    if mark.is_sure:
        raise ValueError(_sentence_of_mark(path, mark, counts, listed))
    mend = _CLASSES_ALONE if mend == _LEAVE_OUT else listed
    warn_once(f"{_sentence_of_mark(path, mark, counts, mend)} It is learned as a class.")


def _sentence_of_mark(path, mark, counts, mend):
    return (
        f"{path}: {counts[mark.label]:,} of {sum(counts.values()):,} labels are {mark.label!r}, "
        f"{mark.writer} where there is none. {mend}"
    )
