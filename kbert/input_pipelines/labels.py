"""Labels: the value of a column -> what a person means by it."""

import re
from collections.abc import Callable, Collection

from kbert.bounds import LARGEST_FLOAT32
from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.near_names import did_you_mean
from kbert.input_pipelines.header_rows import Headers
from kbert.input_pipelines.json_rows import (
    MissingColumn,
    json_type,
    require_column,
    text_problem,
)
from kbert.input_pipelines.label_lists import (
    begins_a_list,
    from_zeros_and_ones,
    held_names,
    label_columns,
    listed_in_text,
    split_cell,
    zero_or_one,
    zeros_and_ones,
)
from kbert.input_pipelines.label_names import DASHES, NUMBERS_FOR_NONE, as_number, find_twin, seen_text

# What programs write where a cell has no value: Python, pandas, R, SQL, C, Excel (with its other errors).
NO_VALUE = frozenset(
    (
        "#N/A N/A",
        *"NaN nan -NaN -nan 1.#IND -1.#IND 1.#QNAN -1.#QNAN N/A n/a #N/A #NA <NA>".split(),
        *"NA None null NULL (null) (NULL) <null> [NULL] \\N (blank)".split(),
        *"#REF! #NAME? #VALUE! #DIV/0! #NUM! #NULL!".split(),
    )
)
_NO_LABEL = NO_VALUE | {"?", "n.a.", "N.A.", "."}  # and what SNLI, SAS and people write
# Signs that may also be classes, beside +1 and "+": the whole file tells, see `judge_labels`.
SIGNS = (*DASHES, *map(str, NUMBERS_FOR_NONE))
_MOST_KNOWN = 4096
_THOUSANDS, _BELOW_THOUSAND = re.compile(r"-?[1-9]\d{0,2}\.\d{3}"), re.compile(r"-?\d{1,3}")
_LIST_ENDS = frozenset(")]}")
# The heads of labels that say beside two texts whether they belong together.
_PAIR_LABELS = (
    "label labels score is_duplicate is_relevant gold_label similarity similarity_score relevance "
    "relatedness_score entailment_judgment quality"
).split()
PAIR_LABELS = tuple(head for name in _PAIR_LABELS for head in (name, name.capitalize(), name.upper()))
# Columns of negatives: of kbert hard-negatives, of sentence-transformers, of FlagEmbedding, of people.
NEGATIVE_COLUMN = re.compile(r"(hard[-_ ]?)?neg(ative)?s?[-_ ]?\d*", re.IGNORECASE)


class NoLabel(ValueError):
    """A row has no label; `dataset.skip_unlabelled` leaves it out."""


ANSWER = "answer"  # the field in which Prodigy writes what an annotator said
LEFT_OUT = object()  # in the place of the label of a row that is left out


def require_accepted(record: dict, where: str):
    """Raises ValueError for what an annotator rejected or passed over in Prodigy, which its training skips.

    Args:
      record: a row, or a span of one.
      where: file and line, for messages.
    """
    if record.get(ANSWER) in ("reject", "ignore"):
        raise ValueError(
            f"{where} has {record[ANSWER]!r} as its {ANSWER!r}, as Prodigy marks what is wrong or unsure; "
            "leave it out, as Prodigy's own training does, or rename the field."
        )


class RowLabels:
    """Reads the labels of a file, row by row; counts the rows without one, where the dataset leaves them out.

    Args:
      dataset: names the columns.
      read_label: function from (record, dataset, where) to a label, such as `class_label`; None for a file
        whose labels are not read: every row has the label None.
    """

    def __init__(self, dataset: DatasetConfig, read_label: Callable | None):
        self._dataset, self._read_label = dataset, read_label
        self._headers = Headers(dataset)
        self._has_answers = ANSWER not in (*dataset.text_columns, dataset.label)  # which may be any words
        self._number, self._left_out, self._first = 0, 0, ""
        self._lacking: MissingColumn | None = None  # of the first row, if no row has the column of the labels
        self._known: dict[str, str | float] = {}  # what cells mean, whatever stands beside them

    def read(self, record: dict, where: str):
        """The label of a row, or LEFT_OUT.

        Raises:
          ValueError: as `read_label` does, for a row that repeats the header, and as `require_accepted`.
        """
        self._number += 1
        is_first = self._number == 1 and bool(self._dataset.column_names)  # which may be a header
        if self._read_label is None:
            if is_first:
                self._headers.refuse(record, where, is_first)
                self._headers.refuse_names(record, where)
            return None
        if self._has_answers:
            require_accepted(record, where)
        if self._dataset.label in record:
            self._lacking = None
        cell = record.get(self._dataset.label)
        self._headers.look_at(cell, record.get(self._dataset.text))
        if isinstance(cell, str) and cell in self._known:
            return self._known[cell]
        self._headers.refuse(record, where, is_first)
        try:
            label = self._read_label(record, self._dataset, where)
            if self._read_label in (class_label, number_label) and len(self._known) < _MOST_KNOWN:
                if isinstance(cell, str) and not self._headers.is_head_of_label(cell):
                    self._known[cell] = label
            if is_first and self._read_label in (class_label, label_set) and not self._dataset.labels:
                self._headers.doubt(record, where)
            return label
        except MissingColumn as error:  # of one row of JSON lines
            columns = (self._dataset.label, *self._dataset.labels)
            if not self._dataset.skip_unlabelled or error.column not in columns:
                raise
            self._lacking = error if self._number == 1 else self._lacking
            return self._leave_out(f"{where} has no column {error.column!r}")
        except NoLabel as error:
            if not self._dataset.skip_unlabelled:
                raise
            return self._leave_out(str(error).partition(";")[0])

    def _leave_out(self, why):
        self._left_out, self._first = self._left_out + 1, self._first or why
        return LEFT_OUT

    def say(self):
        """Warns, after the last row, of those that were left out. Raises ValueError where none is left, and
        where the first row looks like a header."""
        number, left_out = self._number, self._left_out
        self._headers.say(number)
        if self._read_label is number_label:
            _say_thousands(self._known)
        if not left_out:
            return
        if left_out == number:
            if self._lacking is not None:
                raise self._lacking
            raise ValueError(f"no row of {number:,} has a label; the first: {self._first}.")
        warn_once(f"{left_out:,} of {number:,} rows have no label and are left out; the first: {self._first}")


def _say_thousands(cells: Collection[str]):
    """Warns of "1.250" among whole numbers below a thousand: German, Italian and Spanish spreadsheets write
    1250 so. Where all numbers have three digits behind the point, as of "%.3f", they are fractions."""
    grouped = [cell for cell in cells if _THOUSANDS.fullmatch(cell.strip())]
    others = [cell for cell in cells if not _THOUSANDS.fullmatch(cell.strip())]
    if grouped and others and all(_BELOW_THOUSAND.fullmatch(cell.strip()) for cell in others):
        shown = grouped[0].strip()
        warn_once(
            f"labels such as {shown!r} stand beside whole numbers and are read as fractions; if the point "
            f"separates thousands, write {shown.replace('.', '')}."
        )


def class_label(record: dict, dataset: DatasetConfig, where: str) -> str:
    """The name of one class: a string that is not blank, or a whole number, see `class_name`.

    Raises:
      ValueError: for any other value, and for a class that is not in `dataset.labels` (if that lists any).
      NoLabel: for an empty cell and what stands for one, such as null, "-" and "NaN".
    """
    column = dataset.label
    require_column(record, column, where)
    label = record[column] = class_name(record[column], dataset.labels)
    require_label(label, dataset, where, _signs_of_none(dataset))
    if not isinstance(label, str):
        kind = "one-hot" if _is_one_hot(label) else type(label)
        raise ValueError(f"{where} has {_shown(label)} as its label {column!r}, {_WHOSE_LABEL[kind]}.")
    if why := text_problem(record, column):
        raise ValueError(f"{where} {why}; fix the row or leave it out.")
    ends_a_list = label.rstrip()[-1:] in _LIST_ENDS
    if (
        ends_a_list
        and (listed_in_text(label) is not None or begins_a_list(label) or label.startswith('{"'))
        and label not in dataset.labels
    ):
        raise ValueError(
            f"{where} has {label[:80]!r} as its label {column!r}, which is a list or an object as text; for "
            'several labels set task = "multi_label_classification", else write the name alone, or, if it is '
            "one, list all labels in dataset.labels."
        )
    return listed_label(label, dataset, where)


def class_name(value, labels: Collection[str]):
    """What a value calls a class: a number what the labels call it, a whole one else its decimal digits. So
    does a float that is whole: pandas makes floats of integers where one is missing. In text "1.0" is the
    class "1", and "1" the class "1.0", where the labels have only the other. Any other value is given as it
    is."""
    number = as_number(str(value)) if type(value) is int or isinstance(value, float) else None
    if number is not None:
        name = value if value % 1 else str(int(value))
        return name if name in labels else next((x for x in labels if as_number(x) == number), name)
    if isinstance(value, str) and labels and value not in labels and as_number(value) is not None:
        return next((name for name in (value.removesuffix(".0"), f"{value}.0") if name in labels), value)
    return value


def plain_number(value) -> float | None:
    """A JSON number, or a string with a decimal number; None for all else and what is infinity in float32."""
    is_number = isinstance(value, str | int | float) and not isinstance(value, bool)
    if not is_number or "_" in str(value):  # "1_5" is 15 to Python alone
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST_FLOAT32 else None


def number_label(record: dict, dataset: DatasetConfig, where: str) -> float:
    """The number to learn: a JSON number, or a string with a decimal number.

    Raises:
      ValueError: for any other value, and for what is infinity in float32.
      NoLabel: for an empty cell and what stands for one, such as null, "-" and NaN.
    """
    column = dataset.label
    require_column(record, column, where)
    value = record[column]
    require_label(value, dataset, where, are_classes=False)
    number = plain_number(value)
    if number is None:
        raise ValueError(
            f"{where} has {_shown(value)} as its label {column!r}; regression needs a finite number, such "
            f"as 2.5, of at most {LARGEST_FLOAT32:.2g}: {_mend_of_number(value)}."
        )
    return number


def label_set(record: dict, dataset: DatasetConfig, where: str) -> tuple[str, ...]:
    """The classes of a text, any number of them, in their order and each once.

    The value is a list of names; or a text: such a list as Python, JSON or NumPy print it, or names with
    `dataset.label_separator` between them; or a list with a 0 or 1 for each of `dataset.labels`, or a text of
    these ("0101"), or an object with a 0 or 1 for each name. A file without the column may have a column of 0
    and 1 for each of `dataset.labels` instead. A blank cell is the empty list, but with
    `dataset.skip_unlabelled`.

    Raises:
      ValueError: for any other value, and for a class that is not in `dataset.labels` (if that lists any).
      NoLabel: for null and what stands for it, such as "NaN", and for -1 in columns of 0 and 1.
    """
    if columns := label_columns(record, dataset):
        return tuple(name for name in columns if _holds(record, name, where))
    require_label_set(record, dataset, where)
    value = record[dataset.label]
    if dataset.skip_unlabelled or not _is_blank(value):  # which is the empty list
        require_label(value, dataset, where, mend=f"write [] if no label holds, {LEAVE_OUT}")
    try:
        names = _names(value, dataset)
    except ValueError as error:
        raise ValueError(f"{where} has {_shown(value)} as its label {dataset.label!r}, {error}.") from None
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(
            f"{where} has {_shown(value)} as its label {dataset.label!r}; multi-label classification expects "
            "a list of strings, or names with dataset.label_separator between them."
        )
    for name in names:
        require_label(name, dataset, where, _signs_of_none(dataset))
        if why := text_problem({dataset.label: name}, dataset.label):
            raise ValueError(f"{where} {why}; fix the row or leave it out.")
    return tuple(dict.fromkeys(listed_label(name, dataset, where) for name in names))


def require_label_set(record: dict, dataset: DatasetConfig, where: str):
    """Raises MissingColumn, a ValueError, for a record without the columns that `label_set` reads."""
    if dataset.label in record or label_columns(record, dataset):
        return
    lacking = [name for name in dataset.labels if name not in record]
    if len(lacking) < len(dataset.labels) and {*dataset.labels}.isdisjoint(dataset.text_columns):
        raise MissingColumn(
            f"{where} has no column {lacking[0]!r} of 0 and 1, as it has for others of dataset.labels; it "
            f"has {str(sorted(record))[:500]}.{did_you_mean(lacking[0], record)}",
            "Give each of dataset.labels its column.",
            lacking[0],
        )
    zeros_and_ones = [name for name, value in record.items() if zero_or_one(value) is not None]
    seen = f", here {', '.join(map(repr, zeros_and_ones))[:300]}?" if len(zeros_and_ones) > 1 else ""
    raise MissingColumn(
        f"{where} has no column {dataset.label!r}; it has {str(sorted(record))[:500]}."
        + did_you_mean(dataset.label, record),
        "Name the column of the labels in dataset.label; or, where each label has a column of 0 and 1"
        f"{seen or ','} list all of these columns in dataset.labels.",
        dataset.label,
    )


def listed_label(label, dataset: DatasetConfig, where: str):
    """The label, a string. Raises ValueError where the dataset lists labels without it."""
    if dataset.labels and label not in dataset.labels:
        twin = find_twin(label, dataset.labels)
        raise ValueError(
            f"{where}: label {label[:500]!r} is not among the labels {list(dataset.labels)}, those of "
            f"dataset.labels or else of the training file; {f'is {twin!r} meant? ' if twin else ''}"
            f"{'Fix' if twin else 'fix'} the row, leave it out, or train with the label."
        )
    return label


def _is_one_hot(value):
    held = [*map(zero_or_one, value)] if isinstance(value, list) else []
    return held.count(1) == 1 and held.count(0) == len(held) - 1 > 0


# For each type of value that cannot be a class label: what it is, and how to fix the row.
_WHOSE_LABEL = {
    "one-hot": "which looks like a 0 or 1 for each class, one of them 1; this task expects the class, a "
    "string or an integer: write its number, as jq -c "
    """'.label |= (map(tostring | IN("1", "1.0", "true")) | index(true))' does of a column 'label'""",
    float: "a number, which is a label for regression; classification expects a string or an integer, so "
    "write the name of a class",
    list: "which is for multi-label classification; this task expects one label, a string or an "
    "integer: where each list has one, take it out, as jq -c '.label |= .[0]' does of a column 'label'",
    bool: "which could be taken for several names of classes; write a string, or 0 and 1",
    dict: "an object; classification expects a string or an integer",
}
LEAVE_OUT = "or leave all such rows out by dataset.skip_unlabelled=true."
_GIVE_IT_ONE = f"give it one, {LEAVE_OUT}"


def _signs_of_none(dataset):
    """The signs that stand for no label, where that is known before the whole file is read."""
    return SIGNS if dataset.labels else ()


def require_label(
    value, dataset: DatasetConfig, where: str, signs=DASHES, are_classes=True, mend=_GIVE_IT_ONE
):
    """Raises NoLabel for what stands where there is none; `signs` are what else does, such as `SIGNS`, and
    `mend` is what to do about it."""
    column = dataset.label
    if value is None or value != value:  # NaN
        raise NoLabel(f"{where} has {_shown(value)} as its label {column!r}, so it has no label; {mend}")
    if not isinstance(value, str) or value in dataset.labels:
        return
    if _is_blank(value):
        raise NoLabel(f"{where} has no label in column {column!r}; {mend}")
    if _sign(value) in (*signs, *_NO_LABEL):
        raise NoLabel(
            f"{where} has {value!r} as its label {column!r}, which files have where there is none; "
            f"{mend}{' If it is a class, list it in dataset.labels.' * are_classes}"
        )


def _sign(label):
    """What is seen of a label, with -1 for "-1.00"."""
    number = as_number(label)
    return str(int(number)) if number in NUMBERS_FOR_NONE else seen_text(label)


def _is_blank(value):
    return isinstance(value, str) and not seen_text(value)


def _names(value, dataset):
    """The entries of a list or a cell. Raises ValueError saying what is wrong with it."""
    if isinstance(value, str):
        hot = zeros_and_ones(value, dataset.labels)
        value = [] if _is_blank(value) else hot or split_cell(value, dataset.label_separator)
    if (with_ones := held_names(value)) is not None:
        return with_ones
    if not isinstance(value, list):
        return [None]
    hot = from_zeros_and_ones(value, dataset.labels)
    names = value if hot is None else hot
    return [class_name(name, dataset.labels) for name in names]


def _holds(record, column, where):
    """Whether a row has the label of a column of 0 and 1."""
    value = record[column]
    held = zero_or_one(value)
    if held is not None:
        return held == 1
    if value is None or value != value or _sign(str(value)) in ("", *SIGNS, *_NO_LABEL):
        raise NoLabel(
            f"{where} has {_shown(value) if str(value).strip() else 'nothing'} in the column {column!r} of 0 "
            f"and 1, so it has no label; write 0 if it does not hold, as fillna(0) does, {LEAVE_OUT}"
        )
    raise ValueError(
        f"{where} has {_shown(value)} in the column {column!r}; expected 1 where the text has this label, "
        "else 0."
    )


def _mend_of_number(value):
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        return f"write {text.replace(',', '.')} if the comma is a decimal one, without it if it is not"
    if re.fullmatch(r"[+-]?\d{1,3}([ ,.'\u00a0\u202f]\d{3})+([.,]\d+)?", text):
        return "write it without marks between thousands"
    if re.fullmatch(r"[+-]?[\d.,]+\s*[%\u2030]", text):
        return "write it without the percent sign, in all rows alike"
    return "fix the row or leave it out"


def _shown(value):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"the {json_type(value)} {str(value)[:80]}"
