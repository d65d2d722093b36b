"""What is to be answered: named columns of files and of tables in memory, or lines -> examples.

Nothing heavy is imported.
"""

import contextlib
import dataclasses
import itertools
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kbert.cli.progress import awaited
from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.file_format import DELIMITED, FORMATS, format_by_name
from kbert.files.near_names import did_you_mean, near_names
from kbert.files.text_file import bounded_lines, decoded_lines, read_lines
from kbert.input_pipelines.data_files import reading_dataset
from kbert.input_pipelines.data_in_memory import column_names, is_missing, read_rows
from kbert.input_pipelines.delimited_files import TEXTS_ALONE
from kbert.input_pipelines.file_problems import MOST_ROWS, FileProblems
from kbert.input_pipelines.header_rows import names_columns
from kbert.input_pipelines.json_rows import NotLines, parse_object
from kbert.input_pipelines.label_names import as_number
from kbert.input_pipelines.labelled_files import (
    read_first_row,
    read_header,
    stream_examples,
    stream_records,
    whole_choices,
)
from kbert.input_pipelines.tables import table_rows
from kbert.input_pipelines.tables.table_paths import find_format, find_table, source_files

_LOOKED_AT = 20  # of the first texts of a file
_MOST_KEYS = 1024  # sets of keys of JSON lines that are remembered
# What to do with words in the place of texts.
WHOLE_TEXTS = (
    "write each sentence as one text, its words with blanks between them, or ask the signature `words` of an "
    "export"
)
_KEPT = "id"  # what answers give back
_BEGINNING = "beginning of choices"  # no input: the column that each choice goes on with
# What a line is that holds more than a text, and what to do.
_NO_TEXTS = {
    r'\s*\{\s*"\w+"\s*:.*\}\s*': (
        "a JSON object",
        "JSON lines are read from a file whose name ends in .jsonl",
    ),
    r'\s*\[\s*".*"\s*\]\s*': ("a JSON list", "write each text as a line"),
    r"__label__\S+ .*": ("a text behind its label", "leave labels out: sed 's/__label__[^ ]* //g' OLD > NEW"),
}
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")  # extract_features.py, `read_examples`: the last ||| separates
_PAIR_INPUTS = ("text", "text_pair")
_TEXTS_OF_A_LINE = {("text",): 1, _PAIR_INPUTS: 2}


def has_columns(path: str | Path, dataset: DatasetConfig | None = None) -> bool:
    """Whether a file has columns with names, as a table, TSV or CSV. Its format is said by the ending of its
    name, before that of a compressed one; a name that says none has the `file_format` of the run's dataset,
    but for lines with one column where the run's files have several and no header.
    Raises ValueError as `find_format` and `find_compression` do."""
    file_format = find_format(path, _with_own_format(path, dataset).file_format)
    return file_format is not None and FORMATS[file_format].has_header


def has_rows(path: str | Path, dataset: DatasetConfig | None = None) -> bool:
    """Whether a file is read by columns, in one of `FORMATS`; else each line is a text. As `has_columns`."""
    return find_format(path, _with_own_format(path, dataset).file_format) is not None


def count_rows(
    path: str | Path, dataset: DatasetConfig | None = None, inputs: Collection[tuple[str, ...]] = ()
) -> int:
    """The number of rows of a file that `has_rows`, for a model of which nothing more is known.

    Args:
      path, dataset: as for `examples_from_columns`.
      inputs: the columns of one of these must be there, where the file has a header.

    Raises:
      ValueError: where the file cannot be read, or has other columns.
    """
    own = _with_own_format(path, dataset)
    if table := find_table(path, own.file_format):
        for file in table.files if inputs else ():
            _find_columns(table_rows.column_names(file, table.file_format), file, inputs, own)
        return sum(table_rows.count_rows(file, table.file_format) for file in table.files)
    if inputs and has_columns(path, dataset):
        _find_columns(_header(path, own, inputs), path, inputs, own, _LINES_ADVICE)
    return sum(1 for _ in _read_records(path, own, inputs))


def examples_of_file(
    path: str | Path, inputs: Sequence[tuple[str, ...]], dataset: DatasetConfig | None = None
) -> Iterator[dict]:
    """The examples of a file: as `examples_from_columns` reads it if it `has_rows`, else as
    `examples_from_lines`. Their arguments and errors."""
    if has_rows(path, dataset):
        return examples_from_columns(path, inputs, dataset)
    return examples_from_lines(inputs, _lines(path, dataset or DatasetConfig()), str(path), dataset)


def with_checked_texts(
    examples: Iterator[dict], path, dataset: DatasetConfig | None, files
) -> Iterator[dict]:
    """The examples of a file, of which the first are read at once.

    Args:
      examples: of `examples_of_file`.
      path, dataset: as for it.
      files: the `Files` of the task, or None.

    Raises:
      ValueError: as `Files.require_texts` does.
    """
    first = list(itertools.islice(examples, _LOOKED_AT))
    if files:
        texts = [example["text"] for example in first if isinstance(example.get("text"), str)]
        files.require_texts(path, _with_own_format(path, dataset), texts)
    return itertools.chain(first, examples)


def examples_from_columns(
    path: str | Path, inputs: Collection[tuple[str, ...]], dataset: DatasetConfig | None = None
) -> Iterator[dict]:
    """The examples of a file that `has_rows`; other columns than those of inputs and `id` are not read.

    `text`, `text_pair` and `choices` stand in the columns that the dataset names, else in columns of these
    names, as all other inputs do: all of them where one column would be two inputs. Choices in the dataset's
    columns begin with its `text_pair`, as in training. A second text without a value is left out of its
    example, see `with_values`.

    Args:
      path: the file; in JSON lines the keys of each row are its columns.
      inputs: the inputs of each signature of the task that answers texts.
      dataset: of the run's config, whose files had such columns.

    Raises:
      ValueError: at once, for a file whose header has the columns of no signature; while it is read, for
        such a row, and as `stream_examples` does.
    """
    own = _with_own_format(path, dataset)
    with _naming_format(path, own):
        if not has_columns(path, dataset):
            return _rows_with_keys(path, inputs, own)
        return (example for _, example in _rows_of_columns(path, inputs, own, is_whole=False))


def rows_and_examples(
    path: str | Path, inputs: Collection[tuple[str, ...]], dataset: DatasetConfig | None = None
) -> Iterator[tuple[dict, dict]]:
    """(all columns, the example) of each row of a file that `has_columns`. Arguments of
    `examples_from_columns`.

    Raises:
      ValueError: for a name that two columns have, and a column that cannot be read; and as
        `examples_from_columns` does.
    """
    return _rows_of_columns(path, inputs, _with_own_format(path, dataset), is_whole=True)


def _rows_of_columns(path, inputs, dataset, is_whole):
    """(columns, example) of each row. Each file of a table may have other columns, and no others are read
    than those of inputs, unless the row `is_whole`: they may hold what is no text."""
    table = find_table(path, dataset.file_format)
    advice = _LINES_ADVICE if table or _named_format(path) else ""
    read = []
    for file in table.files if table else (path,):
        header = table_rows.column_names(file, table.file_format) if table else _header(path, dataset, inputs)
        columns = _match_columns(header, file, inputs, dataset, advice)
        if is_whole:
            _require_different(header, file)
        read.append((file, columns, header if is_whole and table else _names_in(columns)))

    def rows():
        for file, columns, names in read:
            if table:
                records = table_rows.read_rows(file, table.file_format, names)
            else:
                records = _read_records(path, dataset, inputs, names)
            for where, record in records:
                yield record, _written(_example(record, columns, path), where)

    return rows()


def _rows_with_keys(path, inputs, dataset):
    """Those of JSON lines: each row may have other keys; no key is an input in one and another thing in the
    next."""
    by_keys: dict[tuple, dict] = {}
    named = {"text": dataset.text, "text_pair": dataset.text_pair, "choices": dataset.choices}
    renamed = {name: column for name, column in named.items() if column and column != name}
    beside, by_itself = set[str](), set[str]()  # keys beside those of the run; inputs under their own names

    def read(record, label, where):
        keys = tuple(record)
        if keys not in by_keys:
            if len(by_keys) == _MOST_KEYS:
                by_keys.clear()
            columns = _match_columns([*keys], where, inputs, dataset, source=path)
            for name in renamed.keys() & columns.keys():
                if columns[name] == name:
                    by_itself.add(name)
                else:
                    beside.update(keys)
            if doubted := sorted(by_itself & beside):
                raise ValueError(
                    f"{where}: some lines have {doubted[0]!r} beside {renamed[doubted[0]]!r}, which the run "
                    f"reads, others have {doubted[0]!r} alone; give all lines the same keys, null where "
                    "nothing stands."
                )
            by_keys[keys] = columns
        return _written(_example(record, by_keys[keys], path), where)

    with _naming_format(path, dataset):
        known = _known(dataset, inputs)
        yield from stream_examples(path, dataset, (), read, with_labels=False, optional=known)


def examples_from_table(
    table, inputs: Collection[tuple[str, ...]], dataset: DatasetConfig | None = None
) -> list[dict]:
    """The examples of a table in memory, by the columns that `examples_from_columns` reads of a file.

    Args:
      table: anything with `column_names`.
      inputs, dataset: as for `examples_from_columns`.

    Raises:
      ValueError: for a table that has the columns of no signature, a row without any input, and as
        `read_rows` does.
    """
    name = "the data"
    header = list(map(str, column_names(table) or ()))
    columns = _match_columns(header, name, inputs, dataset or DatasetConfig())
    rows = read_rows(table, name, _names_in(columns))
    examples = [_example(row, columns, name) for row in rows]
    for number, example in enumerate(examples, start=1):
        if all(value is None for key, value in example.items() if key != _KEPT):
            empty = " and ".join(map(repr, _names_in(columns)))
            raise ValueError(f"row {number} of {name} has no value in {empty}; fix the row or leave it out.")
    return examples


def _require_different(header, path):
    named = list(header)
    while named and not named[-1].strip():  # a delimiter at the end of each line
        named.pop()
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise ValueError(
            f"{path} has several columns {', '.join(map(repr, twice))[:200]}, and a table of predictions "
            "keeps one of them; give each a name of its own, or name the output_file .jsonl."
        )


def texts_and_pairs(
    path: str | Path, dataset: DatasetConfig | None = None
) -> Iterator[tuple[str, str | None]]:
    """(text, second text or None) of each row of a file with columns, or of each line.

    Columns, and the keys of an object in JSON lines, are those that the dataset names, else `text` and maybe
    `text_pair`. Any other line, an empty one too, is a text, or two with ` ||| ` between them, as in Google's
    extract_features.py.

    Args:
      path: the file.
      dataset: of the run's config, whose files had such columns.

    Raises:
      ValueError: as `examples_from_columns` and `examples_from_lines` do; while it is read, for a row without
        a text.
    """
    if not has_rows(path, dataset):
        lines = _lines(path, dataset or DatasetConfig())
        return map(_text_and_pair, _lines_of_text(lines, path, dataset))
    examples = examples_from_columns(path, [("text",), ("text", "text_pair")], dataset)

    def rows():
        for number, example in enumerate(examples, start=1):
            text, pair = example.get("text"), example.get("text_pair")
            if not isinstance(text, str) or not isinstance(pair, str | None):
                raise ValueError(f"{path} row {number} has no text under 'text'; leave the row out.")
            yield text, pair

    return rows()


def _text_and_pair(line):
    pair = _PAIR.match(line.strip())
    return pair.groups() if pair else (line, None)


def _with_own_format(path, dataset) -> DatasetConfig:
    """The dataset, whose format is that of the file: None where the name of the file says it. Of a run whose
    files have no header, without the names of its columns where this file has one.

    Files with delimiters of a run that says theirs, or reads CSV, are read with or without quotes as in the
    run: a .tsv of a run that says so was written with quotes.
    """
    dataset = reading_dataset(path, dataset or DatasetConfig())
    if dataset.file_format is not None:
        named = _named_format(path)
        if not named and _holds_lines(path, dataset):
            dataset = dataclasses.replace(dataset, file_format=None)
        elif not named:
            warn_once(_why_so(path, dataset))
        elif named != dataset.file_format and {named, dataset.file_format} <= {*DELIMITED}:
            if dataset.file_format == "csv":
                dataset = dataclasses.replace(
                    dataset, delimiter=dataset.delimiter or FORMATS[named].delimiter
                )
            elif not dataset.delimiter:
                dataset = dataclasses.replace(dataset, file_format=None)
    return dataclasses.replace(dataset, column_names=()) if _has_header(path, dataset) else dataset


def _has_header(path, dataset):
    """Whether the first row of a file of a run with `column_names` is a header, which is said."""
    if not dataset.column_names or not Path(path).is_file():  # a pipe is read once
        return False
    is_delimited = find_format(path, dataset.file_format) in DELIMITED
    cells = read_first_row(path, dataset) if is_delimited else []
    if not names_columns(cells, dataset):
        return False
    warn_once(
        f"{path}: its first row names its columns ({', '.join(map(repr, cells))[:200]}), and it is read so; "
        "the files of the run have no such row (dataset.column_names)."
    )
    return True


def _holds_lines(path, dataset):
    """Whether a file whose name says no format has texts in its lines, not the columns of the run, which is
    said: its first line is no header, lacks the delimiter, and another one that cuts it leaves no label."""
    names = dataset.column_names
    if dataset.file_format not in DELIMITED or len(names) < 2 or not Path(path).is_file():
        return False
    delimiter = dataset.delimiter or FORMATS[dataset.file_format].delimiter
    first = next((line for line in _lines(path, dataset) if line.strip()), "")
    cells = read_first_row(path, dataset) if first and delimiter not in first else []
    if not cells or names_columns(cells, dataset):
        return False
    if len(cells) == len(names):
        label = dict(zip(names, cells, strict=True)).get(dataset.label)
        is_label = label in dataset.labels if dataset.labels else as_number(label or "") is not None
        if label is None or is_label:
            return False
    warn_once(
        f"{path}: each line is a text, as the first is without {delimiter!r}, which separates the columns of "
        f"the run's files ({', '.join(names)})."
    )
    return True


def _named_format(path):
    """The format that the name of a file says, or that of the first of several."""
    return format_by_name(path) or format_by_name(source_files(path)[0])


def _why_so(path, dataset) -> str:
    return (
        f"{path} is read as {dataset.file_format}, the dataset.file_format of the run, for its name says no "
        "format; texts alone go into a .jsonl file, or into kbert predict by standard input"
    )


@contextlib.contextmanager
def _naming_format(path, dataset):
    """Adds to an error why the file is read so, where it `_with_own_format` has the format of the run."""
    try:
        yield
    except ValueError as error:
        if dataset.file_format is None or _named_format(path):
            raise
        raise ValueError(f"{error} {_why_so(path, dataset)}.") from None


def _lines(path, dataset):
    return (line.removesuffix("\r") for line in read_lines(path, dataset.encoding))


def _read_records(path, dataset, inputs, columns=()):
    return stream_records(path, dataset, columns, with_labels=False, optional=_known(dataset, inputs))


_LINES_ADVICE = f" {TEXTS_ALONE}"


def _find_columns(header, file, inputs, dataset, advice="") -> dict[str, str | tuple[str, ...]]:
    """input -> its column, or its columns, for all that the file has. ValueError where no signature has its
    own."""
    named = {"text": dataset.text, "text_pair": dataset.text_pair, "choices": dataset.choices}
    columns = _columns_by_names(header, inputs, named)
    if len({*_names_in(columns)}) < len(_names_in(columns)):  # such as of title and text, without a title
        columns = _columns_by_names(header, inputs, {})
    if not any(set(names) <= set(columns) for names in inputs):
        raise ValueError(
            f"{file} has the columns {str(header)[:500]}; expected "
            f"{_expected(inputs, named)}.{_near(header, inputs, named)} Rename its columns.{advice}"
        )
    return columns


def _columns_by_names(header, inputs, named) -> dict[str, str | tuple[str, ...]]:
    """input -> what it is `named`, else its own name, for all that the header has."""
    columns: dict[str, str | tuple[str, ...]] = {}
    for name in dict.fromkeys(name for names in inputs for name in names):
        for column in (named.get(name), name):
            wanted = column if isinstance(column, tuple) else (column,)
            if column and set(wanted) <= set(header):
                columns[name] = column
                break
    return columns


def _match_columns(header, file, inputs, dataset, advice="", source=None) -> dict[str, str | tuple[str, ...]]:
    """As `_find_columns`, with what choices begin with and the `id`. It judges what is not read, too.

    Of a row, `file` is where it stands, and `source` its file, which a warning names.
    """
    columns = _find_columns(header, file, inputs, dataset, advice)
    if columns.get("text") == dataset.text:
        _require_no_words(header, file, dataset)
    if columns.get("choices") == dataset.choices and dataset.text_pair:
        if dataset.text_pair not in header:
            raise ValueError(
                f"{file} has no column {dataset.text_pair!r}, with which every choice begins "
                f"(dataset.text_pair); its columns are {str(header)[:500]}."
            )
        columns[_BEGINNING] = dataset.text_pair
    elif "choices" in columns and dataset.choices and dataset.text_pair in header:
        columns[_BEGINNING] = dataset.text_pair
    unread = set(header) - set(_names_in(columns))
    _require_no_misspelt(unread, file, inputs, columns)
    if _PAIR_INPUTS[1] in unread and _PAIR_INPUTS[1] not in columns:
        sentence = f"the column {_PAIR_INPUTS[1]!r} is not read: this model takes no second text"
        warn_once(f"{source or file}: {sentence}")
    return columns | ({_KEPT: _KEPT} if _KEPT in header else {})


def _require_no_words(names, where, dataset):
    """Refuses columns of words, which training puts together to sentences."""
    if dataset.sentence and dataset.sentence in names:
        raise ValueError(
            f"{where} has a word in each row, as the column {dataset.sentence!r} says, which numbers "
            f"sentences (dataset.sentence); texts are answered whole: {WHOLE_TEXTS}, without this column."
        )


def _require_no_misspelt(unread, file, inputs, columns):
    """Refuses a column with nearly the name of an input: some models answer `text` without `text_pair`."""
    ways = [names for names in inputs if not columns.keys().isdisjoint(names)]
    for name in {name for names in ways for name in names} - set(columns):
        if near := near_names(name, unread, nearness=0.85):
            raise ValueError(
                f"{file} has a column {near[0]!r}, which is not read, and no column {name!r}; rename it to "
                f"{name!r}, or leave it out."
            )


def _header(path, dataset, inputs):
    return read_header(path, dataset, _known(dataset, inputs))


def _known(dataset, inputs) -> set[str]:
    """All names of columns that may be read: what finds the delimiter, which is one in every reading."""
    return {*dataset.text_columns, *(name for names in inputs for name in names)}


def _near(header, inputs, named) -> str:
    names = dict.fromkeys(named.get(name) or name for names in inputs for name in names)
    return next(filter(None, (did_you_mean(name, header) for name in names if isinstance(name, str))), "")


def _expected(inputs, named) -> str:
    def shown(name):
        column = named.get(name) or name
        return " and ".join(column) if isinstance(column, tuple) else column

    return ", or ".join(" and ".join(map(shown, names)) for names in inputs)


def _names_in(columns) -> list[str]:
    return [
        name for column in columns.values() for name in (column if isinstance(column, tuple) else (column,))
    ]


def with_values(example: dict, source) -> dict:
    """An example whose second text, where it is null or NaN, is none, so that the first is a text alone; this
    is said once. What else is null is refused by its name where it is answered.

    Args:
      example: inputs by their names.
      source: what the warning calls the examples.
    """
    if not is_missing(example.get("text_pair", "")):
        return example
    warn_once(
        f"{source}: examples whose text_pair is null are read as one text alone; where an empty text is "
        'meant, write "".'
    )
    return {name: value for name, value in example.items() if name != "text_pair"}


def _written(example, where) -> dict:
    """The example. Raises ValueError where its `id` is nothing that an answer can give back."""
    if type(example.get(_KEPT)) in (str, int, type(None)):  # nearly always, and quicker
        return example
    try:
        json.dumps(example[_KEPT], allow_nan=False)
    except ValueError:
        raise ValueError(
            f"{where}: {_KEPT} holds NaN or infinity, which JSON does not have; write a text or null."
        ) from None
    return example


def _example(record, columns, source) -> dict:
    """The inputs of a row that have a value; several columns are a list."""
    example: dict[str, Any] = {
        name: [record[part] for part in column] if isinstance(column, tuple) else record[column]
        for name, column in columns.items()
    }
    example = with_values(example, source)
    if _BEGINNING in columns:
        beginning, choices = example.pop(_BEGINNING, None), example.pop("choices")
        if isinstance(columns["choices"], str):  # whole ones, where the run has columns of ends
            if beginning and not is_missing(beginning):
                raise ValueError(
                    f"{source} has {columns[_BEGINNING]!r}, with which every choice of the run begins, "
                    "beside 'choices', which are taken as they are; write it before each of them, and leave "
                    "the column out."
                )
            return example | {"choices": choices}
        if beginning is not None and None not in choices:  # else it has no choices, which is said later
            are_texts = all(isinstance(part, str) for part in (beginning, *choices))
            # What is no text is refused later, by its name.
            example["choices"] = whole_choices(beginning, choices) if are_texts else [beginning, *choices]
    return example


# ------------------------------------------------------------------------------ lines


def examples_from_lines(
    inputs: Sequence[tuple[str, ...]],
    lines: Iterable[str],
    source: str,
    dataset: DatasetConfig | None = None,
    most_problems: int = MOST_ROWS,
) -> Iterator[dict]:
    """The examples of lines.

    A line is a text, also of a task on pairs that answers texts beside them; or two texts with a tab between
    them for a task on pairs, and where pairs are answered beside texts; or a JSON object, whose keys are the
    inputs, for other tasks. Between objects lines may be blank.

    Args:
      inputs: the inputs of each signature of the task that answers texts; the first is the usual one.
      lines: the lines.
      source: where they are from, for messages.
      dataset: of the run's config, by whose columns a header is known.
      most_problems: with 1 the first line of another form is an error at once, where somebody waits for the
        answer to each line.

    Raises:
      ValueError: for lines of another form; the message names `source` and all of them up to
        `most_problems`.
    """
    number_of_texts = _TEXTS_OF_A_LINE.get(inputs[0])
    problems = FileProblems(source, most_problems)
    if number_of_texts and all("text" in names for names in inputs):
        lines = _lines_of_text(lines, source, dataset)
    for number, line in enumerate(lines, start=1):
        if number_of_texts is None and not line.strip():
            continue
        try:
            example = _example_of_line(line, source, number, inputs, number_of_texts)
        except NotLines:
            raise
        except ValueError as error:
            problems.add(error)
            if problems.is_full:
                break
        else:
            if not problems:
                yield example
    problems.raise_all()


def _lines_of_text(lines, source, dataset):
    """The lines. Warns where the first holds more than a text, or is a header."""
    for number, line in enumerate(lines, start=1):
        cells = re.split(r"[,;|\t]", line.replace('"', "")) if number == 1 else []
        if cells and names_columns(cells, dataset or DatasetConfig()):
            warn_once(
                f"{source} line 1 is a header, and is read as a text, as all lines are; give a file with "
                "columns by its name, which ends in .csv or .tsv."
            )
        for looks, (what, advice) in _NO_TEXTS.items() if number == 1 else ():
            if re.fullmatch(looks, line):
                warn_once(f"{source} line 1 is {what}, and is read as a text, as all lines are; {advice}.")
        yield line


def _example_of_line(line, source, number, inputs, number_of_texts) -> dict:
    if number_of_texts is None:
        example = parse_object(line, source, number, f"with {', '.join(inputs[0])}")
        example = _written(example, f"{source} line {number}")
        return with_values(example, source)
    texts = line.split("\t")
    is_pair = len(texts) == 2 and all(map(str.strip, texts)) and _PAIR_INPUTS in inputs
    if number_of_texts == 1 and not is_pair:
        if len(texts) == 2 and 1 in map(len, map(str.split, texts)):
            warn_once(
                f"{source}: lines with a word, a tab and a text are read as one text. If the word is a label "
                "or an id, leave it out, or name the columns in the first line of a .tsv file."
            )
        return {"text": line}
    if len(texts) == 1 and ("text",) in inputs:
        warn_once(
            f"{source}: lines without a tab are read as one text alone, which the model takes beside pairs; "
            "a pair has a tab between its texts."
        )
        return {"text": line}
    if len(texts) != 2:
        raise ValueError(f"{source} line {number}: expected two texts with a tab between them.")
    if number_of_texts == 1:
        warn_once(
            f"{source}: lines with one tab are read as two texts, a pair, which the model takes beside texts "
            "alone; JSON lines, from a file whose name ends in .jsonl, take a text with a tab."
        )
    return dict(zip(_PAIR_INPUTS, texts, strict=True))


def read_standard_input() -> Iterator[str]:
    """The lines of standard input, as `decoded_lines`, whatever the encoding of the system is.

    Raises:
      ValueError: at the end, where there was none, and as `decoded_lines` does.
    """
    lines = decoded_lines(awaited(bounded_lines(sys.stdin.buffer, "standard input")), "standard input")
    first = next(lines, None)
    if first is None:
        raise ValueError(
            "standard input is empty; write a text on each line, or give --text or --input_file. "
            "`docker run` and `kubectl exec` pass it on with -i alone."
        )
    yield first
    yield from lines
