"""Which columns of a file, a table or an object answer a model's inputs, and the example of such a row."""

import json
from typing import Any

from kbert.cli.warn_once import warn_once
from kbert.files.near_names import did_you_mean, near_names
from kbert.input_pipelines.data_in_memory import is_missing
from kbert.input_pipelines.labelled_files import whole_choices

# What to do with words in the place of texts.
WHOLE_TEXTS = (
    "write each sentence as one text, its words with blanks between them, or ask the signature `words` of an "
    "export"
)
ID_COLUMN = "id"  # what answers give back
_BEGINNING = "beginning of choices"  # no input: the column that each choice goes on with


def find_columns(header, file, inputs, dataset, advice="") -> dict[str, str | tuple[str, ...]]:
    """input -> its column, or its columns, for all that a header has.

    Args:
      header: the names of the columns.
      file: what messages call it.
      inputs: the inputs of each signature of the task that answers texts.
      dataset: of the run's config, whose files had such columns.
      advice: the end of the message.

    Raises:
      ValueError: where no signature has all its inputs.
    """
    named = {"text": dataset.text, "text_pair": dataset.text_pair, "choices": dataset.choices}
    columns = _columns_by_names(header, inputs, named)
    if len({*names_in(columns)}) < len(names_in(columns)):  # such as of title and text, without a title
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


def match_columns(header, file, inputs, dataset, advice="", source=None) -> dict[str, str | tuple[str, ...]]:
    """As `find_columns`, with what choices begin with and the `id`. It judges what is not read, too.

    Args:
      header, file, inputs, dataset, advice: as for `find_columns`. Of a row, `file` is where it stands.
      source: the file of a row, which a warning names.
    """
    columns = find_columns(header, file, inputs, dataset, advice)
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
    unread = set(header) - set(names_in(columns))
    _require_no_misspelt(unread, file, inputs, columns)
    if "text_pair" in unread and "text_pair" not in columns:
        warn_once(f"{source or file}: the column 'text_pair' is not read: this model takes no second text")
    return columns | ({ID_COLUMN: ID_COLUMN} if ID_COLUMN in header else {})


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


def possible_columns(dataset, inputs) -> set[str]:
    """All names of columns that may be read, by which a delimiter is found: the same in every reading."""
    return {*dataset.text_columns, *(name for names in inputs for name in names)}


def _near(header, inputs, named) -> str:
    names = dict.fromkeys(named.get(name) or name for names in inputs for name in names)
    return next(filter(None, (did_you_mean(name, header) for name in names if isinstance(name, str))), "")


def _expected(inputs, named) -> str:
    def shown(name):
        column = named.get(name) or name
        return " and ".join(column) if isinstance(column, tuple) else column

    return ", or ".join(" and ".join(map(shown, names)) for names in inputs)


def names_in(columns) -> list[str]:
    return [
        name for column in columns.values() for name in (column if isinstance(column, tuple) else (column,))
    ]


def example_of_row(record, columns, source) -> dict:
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


def with_json_id(example, where) -> dict:
    """The example. Raises ValueError where its `id` is nothing that an answer can give back."""
    if type(example.get(ID_COLUMN)) in (str, int, type(None)):  # nearly always, and quicker
        return example
    try:
        json.dumps(example[ID_COLUMN], allow_nan=False)
    except ValueError:
        raise ValueError(
            f"{where}: {ID_COLUMN} holds NaN or infinity, which JSON does not have; write a text or null."
        ) from None
    return example
