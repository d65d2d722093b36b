"""Checks the objects, columns and texts of rows, for corpora and labelled files alike."""

from kbert.files.json_file import parse_json
from kbert.files.json_values import find_surrogate, shown
from kbert.files.near_names import did_you_mean

AS_LINES = (
    "expected an object in each line. Of a list, or of columns as pandas writes them: "
    'pandas.read_json(path).to_json("rows.jsonl", orient="records", lines=True). Of a list under a key, such '
    "as data: jq -c '.data[]' FILE > rows.jsonl. Of paragraphs with questions: jq -c '.data[].paragraphs[] | "
    ".context as $context | .qas[] | {id, question, context: $context}' FILE > rows.jsonl."
)
_OF_PAIRS = (
    " Make rows of them: jq -c '{text: .[0], label: .[1]}' OLD > NEW; of two texts with text_pair in the "
    "place of label."
)
_NAMES = {type(None): "null", bool: "true or false", str: "string", list: "list", dict: "object"}


class MissingColumn(ValueError):
    """A file or a row does not have a column.

    Args:
      what: says which file, which column, and what there is instead.
      advice: what to do where a config names the columns.
      column: its name.
    """

    def __init__(self, what: str, advice: str = "", column: str | None = None):
        joint = "\n  " if "\n" in what else " "
        super().__init__(f"{what}{joint}{advice}".rstrip())
        self.what = what
        self.advice = advice
        self.column = column


class NotLines(ValueError):
    """A file of JSON lines is one JSON value."""


def parse_object(line: str, source: str, number: int, expected: str) -> dict:
    """The object in a line of JSON.

    Args:
      line: the line.
      source: what messages call the file.
      number: of the line, from 1.
      expected: what the object should be, for the message.

    Raises:
      NotLines: when the file is one JSON value over all its lines.
      ValueError: for a line that is not valid JSON, or another value.
    """
    where = f"{source} line {number}"
    try:
        value = parse_json(line, where)
        if isinstance(value, dict):
            return value
        # As CLINC150 has texts and labels, sentence-transformers' data texts, and spaCy texts and spans.
        is_pair = isinstance(value, list) and len(value) > 1 and isinstance(value[0], str)
        raise ValueError(
            f"{where}: expected an object {expected}, received a {json_type(value)}: {str(value)[:500]}."
            f"{_OF_PAIRS if is_pair else ''}"
        )
    except ValueError:
        if is_whole_json(line, number):
            raise NotLines(f"{source} is one JSON value over all its lines; {AS_LINES}") from None
        if line.rstrip().endswith("},"):
            remedy = r"sed 's/},\r*$/}/' OLD > NEW"
            raise ValueError(f"{where} ends in a comma; take it away: {remedy}.") from None
        raise


def is_whole_json(line: str, number: int) -> bool:
    """Whether a line that holds no object begins a value that goes over all lines of its file."""
    return number == 1 and line.strip() in ("[", "{") or line.lstrip().startswith("[{")


def require_column(record, column, where):
    """Raises MissingColumn, a ValueError, when a record does not have a column."""
    if column not in record:
        what = f"{where} has no column {column!r}; it has {str(sorted(record))[:500]}."
        raise MissingColumn(what + did_you_mean(column, record), column=column)


def text_problem(row: dict, name: str) -> str | None:
    """What is wrong with the text of a row, to be put after "FILE line 3 " in a message; None if nothing is.

    A text must be a string that can be encoded in UTF-8. Without this check, null or a number would be read
    as a word.

    Args:
      row: the object of one line.
      name: the field that should hold the text.
    """
    if name not in row:
        return f"has no field {name!r}, only {', '.join(map(repr, list(row)[:8]))[:500] or 'nothing'}"
    if not isinstance(row[name], str):
        content = f" ({shown(row[name])})" if isinstance(row[name], dict) else ""
        return f"has a JSON {json_type(row[name])}{content} as {name!r}, not a string"
    if half := find_surrogate(row[name]):
        return f"has text with half a surrogate pair ({half}) as {name!r}, which UTF-8 cannot encode"
    return None


def json_type(value) -> str:
    """The name of the JSON type of a value, for messages."""
    return _NAMES.get(type(value), "number")
