"""Reads JSON from outside, where anything wrong becomes an error of one sentence; and writes lines of it."""

import collections
import json
from pathlib import Path

from kbert.files.file_format import require_downloaded
from kbert.files.json_values import is_unicode

_LARGEST = 1 << 28  # bytes; the tokenizer.json of the largest vocabularies has a tenth of that


class NotJson(ValueError):
    """A text that is not valid JSON."""


def parse_json(text: str | bytes, where: str):
    """The value that a JSON text stands for.

    Args:
      text: the text, or its UTF-8 bytes.
      where: what to call the text in an error, for example a file and a line.

    Raises:
      NotJson: a ValueError, when the text is not valid JSON.
      ValueError: when it is not UTF-8, is nested too deeply, has a number of thousands of digits, or has an
        object with a name twice, of which Python would take the last.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply to be read.") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"{where} is not valid JSON: {error}.") from None
    except ValueError as error:  # not UTF-8, a number of thousands of digits, a repeated name
        raise ValueError(f"{where} is not valid JSON: {error}.") from None


def _unique(pairs):
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = max(collections.Counter(name for name, _ in pairs).items(), key=lambda item: item[1])[0]
        raise ValueError(f"the name {twice[:100]!r} appears twice")
    return values


def read_json(path: str | Path):
    """The value in a JSON file.

    Raises:
      ValueError: when it is missing, not valid, nested too deeply, or larger than 256 MiB.
    """
    return parse_json(read_content(path, "JSON", _LARGEST), str(path))


def read_content(path: str | Path, kind: str, largest: int) -> bytes:
    """All bytes of a file.

    Args:
      path: the file.
      kind: its format, for the error message, for example "JSON".
      largest: the largest accepted size in bytes.

    Raises:
      ValueError: when the file is missing, cannot be read, is larger, or was not downloaded itself.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > largest:
            raise ValueError(f"{path} has {size} bytes; {kind} files of more than {largest} are refused.")
        require_downloaded(path)
        return path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist.") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}).") from None


def read_json_object(path: str | Path) -> dict:
    """The object in a JSON file. Raises ValueError when it is missing, broken or not an object."""
    values = read_json(path)
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object, received {type(values).__name__}.")
    return values


def require_known_format(values: dict, newest: int, where: str | Path):
    """Refuses a file of another format.

    Args:
      values: the file's content. `format_version` is the number of its format.
      newest: the newest format that this kbert reads.
      where: the file.

    Raises:
      ValueError: when the number is higher, or is not a whole number of at least 1.
    """
    version = values.get("format_version")
    if type(version) is not int or version < 1:
        raise ValueError(
            f"{where}: format_version={version!r} should be a whole number of at least 1; make it again with "
            "this kbert."
        )
    if version > newest:
        raise ValueError(
            f"{where} was written by a newer kbert: its format_version is {version}, and this one reads up "
            f"to {newest}. Install a newer kbert to use it."
        )


def json_line(values: dict) -> str:
    """A line of JSON, characters as they are; escaped where half a surrogate pair fits no UTF-8."""
    line = json.dumps(values, ensure_ascii=False, allow_nan=False)
    return (line if is_unicode(line) else json.dumps(values)) + "\n"
