"""TSV and CSV files -> their rows, by the names of columns. Nothing heavy is imported."""

import re
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.file_format import DELIMITED, format_by_name
from kbert.files.json_values import first_few
from kbert.files.near_names import did_you_mean, nearest_name
from kbert.input_pipelines.delimited_doubts import AS_CSV, IN_TEXTS, SINGLE_MARKS, DelimitedDoubts
from kbert.input_pipelines.delimited_layout import (
    DELIMITERS,
    ENOUGH_ROWS,
    find_layout,
    in_marks,
    read_cells,
    with_beginning,
)
from kbert.input_pipelines.file_problems import FileProblems
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.input_pipelines.label_lists import label_columns
from kbert.input_pipelines.text_lines import text_lines

_IDS = ("id", "_id")  # columns that tell a row from lines of a text, where there are no labels
TEXTS_ALONE = "A file with a text in each line, and no columns, has another ending, such as .txt."


def require_columns(
    header: list[str],
    path: str | Path,
    columns: Collection[str],
    dataset: DatasetConfig,
    problems: FileProblems,
):
    """Keeps a problem for each column that is not there, and for each that is there twice."""
    for column in columns:
        if column not in header:
            what = f"{path} has no column {column!r}; its columns are {str(header)[:500]}."
            what += did_you_mean(column, header)
            problems.add(MissingColumn(what, _naming_advice(column, header, dataset), column))
            if any(map(in_marks, header)):
                problems.add_hint(
                    "Names of columns stand in quotation marks: CSV reads double ones as such, TSV none; for "
                    "TSV with quotes set dataset.file_format=csv and dataset.delimiter='\\t'."
                )
    read = (*columns, *dataset.text_columns, dataset.scores, dataset.label, *label_columns(header, dataset))
    for column in dict.fromkeys(filter(None, read)):
        if header.count(column) > 1:
            problems.add(
                f"{path} has {header.count(column)} columns {column!r}; its columns are {str(header)[:500]}. "
                "Give each column a different name."
            )


def _naming_advice(column, header, dataset):
    near = nearest_name(column, header)
    names = {getattr(dataset, field): field for field in ("label", "text_pair", "text")}
    if header and header[0].startswith("__label__"):
        return (
            "It looks like fastText's form. Make two columns of it, sed 's/ /\\t/' OLD > NEW.tsv, and set "
            """--override='dataset.column_names=["label", "text"]'."""
        )
    if column == dataset.label and dataset.labels and {*dataset.labels} <= {*header}:
        return (
            f"Of columns of 0 and 1 make one: df[{column!r}] = df[{list(dataset.labels)}].idxmax(axis=1); "
            'for texts with several labels set task = "multi_label_classification".'
        )
    if near and column in names:
        if in_marks(near):
            return ""
        key = f"dataset.{names[column]}"
        return f"Write {shlex.quote(f'--override={key}={near}')} or, in the config, {key}."
    return (
        "Name the columns in the config, or by --override=dataset.text=... where the command has it "
        "(dataset.text, dataset.text_pair, dataset.label; dataset.column_names for a file without a header "
        "line)."
    )


def delimited_records(
    path: str | Path,
    file_format: str,
    dataset: DatasetConfig,
    columns: Collection[str],
    wanted: Collection[str],
    with_labels: bool,
    problems: FileProblems,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields (file and line, cells by column) of each row that has them.

    A blank line is no row, except where an answer for each is wanted and there is one column: an empty cell.

    Args:
      path: the file.
      file_format: "tsv" or "csv".
      dataset: how it is read.
      columns: those that must be there.
      wanted: all that are looked for, see `find_layout`.
      with_labels: whether the file is labelled. Then `dataset.skip_short_rows` says whether rows with too few
        cells are left out and counted, instead of being a problem.
      problems: collects what is wrong.
    """
    lines = text_lines(path, dataset.encoding, problems)
    layout = with_beginning(find_layout(lines, path, file_format, dataset, wanted, problems), lines)
    header, named, short = layout.header, layout.named, list[int]()
    require_columns(header, path, columns, dataset, problems)
    doubts = DelimitedDoubts(path, layout, columns, (dataset.label, *dataset.labels, *_IDS))
    for number, line in read_cells(lines, path, layout, problems):
        where, cells = f"{path} line {number}", _fitted_cells(line, len(header), len(named))
        if len(cells) == len(header):
            doubts.look_at(number, cells, line)
            yield where, dict(zip(named, cells, strict=False))
        elif not cells and (with_labels or len(header) > 1):
            continue
        elif not any(cell.strip() for cell in cells):
            yield where, dict.fromkeys(named, "")
        elif with_labels and dataset.skip_short_rows and len(cells) < len(named):
            short.append(number)
        else:
            problems.add(_wrong_number(where, cells, header))
            is_named = format_by_name(path) in DELIMITED
            are_texts = is_named and dataset.column_names and not (with_labels or _is_cut(cells))
            problems.add_hint(TEXTS_ALONE if are_texts else _hint(cells, layout))
            problems.add_hint(
                f"A carriage return alone ends a row. {IN_TEXTS}" if problems.split_lines else ""
            )
    doubts.say(problems.split_lines)
    if short:
        warn_once(
            f"{path}: {len(short):,} row(s) with too few columns are skipped: line {first_few(short, 5)}"
        )


def _fitted_cells(cells, most, least) -> list[str]:
    """The cells of a row, one for each column, where only delimiters at its end were too many or too few."""
    if len(cells) == most or len(cells) < least or any(cells[most:]):
        return cells
    return [*cells[:most], *[""] * (most - len(cells))]


def _is_cut(cells):
    """Whether a line has several cells, or may have them by another delimiter."""
    return len(cells) > 1 or any(delimiter in cells[0] for delimiter in DELIMITERS[1:])


def _wrong_number(where, cells, header):
    shown = ", ".join(name if name.isprintable() else repr(name) for name in header)[:500]
    return f"{where}: {len(cells)} columns where {len(header)} were expected ({shown}); fix the line."


def _hint(cells, layout) -> str:
    """What may be the reason for a wrong number of cells, said once."""
    mark = layout.delimiter
    if len(cells) == len(layout.header) + 1 and cells[0].strip('" ').isdigit():
        return (
            "If each row begins with its number, for which the header has no name, as R's write.table writes "
            "it: write it with row.names=FALSE, or put a name before the others."
        )
    if not layout.quoted and any('"' in cell for cell in cells):
        return (
            "TSV is read without quoting, and these rows have quotation marks, which may stand around texts "
            f"that have line ends or tabs in them, as Excel and pandas write these. {AS_CSV}"
        )
    if len(cells) > len(layout.header) and re.search(r"(^|\0) *'.*' *(\0|$)", "\0".join(cells), re.DOTALL):
        return f"Do single quotation marks stand around texts with {mark!r} in them? {SINGLE_MARKS}"
    if layout.padded and any('"' in cell for cell in cells):
        return (
            f"Blanks stand behind {mark!r}, and no cell of the first {ENOUGH_ROWS} rows in quotation marks, "
            "so those further down are text. If they stand around texts, write the file again without the "
            "blanks: pandas.read_csv(OLD, sep=..., skipinitialspace=True).to_csv(NEW, index=False)."
        )
    if layout.quoted and len(cells) > len(layout.header):
        return f'A text with {mark!r} in it has to stand in quotation marks: "one{mark} two".'
    return ""
