"""Reads TOML from outside. Anything wrong with it becomes an error of one sentence, with file and line."""

import tomllib
from pathlib import Path

from kbert.files.json_file import read_content
from kbert.files.text_encoding import marked_encoding

# Bytes. Settings are written by hand and are smaller; Python's TOML reader is slow on large files.
_LARGEST = 1 << 20


def parse_toml(text: str | bytes, where: str) -> dict:
    """The values that a TOML text stands for.

    Args:
      text: the text, or its UTF-8 bytes.
      where: what to call the text in an error, for example its file.

    Raises:
      ValueError: naming the line, when it is not valid TOML or not UTF-8; and when it is nested so deeply
        that it cannot be read.
    """
    if isinstance(text, bytes):
        text = _decoded(text, where)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply to be read.") from None
    except tomllib.TOMLDecodeError as error:
        last = f"(at line {text.count(chr(10)) + 1}, the end of the document)"
        problem = str(error).replace("(at end of document)", last)
        if problem.startswith(("Expected '=' after a key", "Invalid statement", "Invalid initial character")):
            problem += '; a key of other characters than A-Z a-z 0-9 _ - stands in quotes: "very good" = 1'
        raise ValueError(f"{where} is not valid TOML: {problem}.") from None
    except ValueError as error:  # a number of thousands of digits, a date that does not exist
        raise ValueError(f"{where} is not valid TOML: {error}.") from None


def _decoded(content, where):
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wide = marked_encoding(content)
        if wide not in (None, "utf-8"):
            raise ValueError(f"{where} is {wide.upper()}, and TOML is UTF-8; save it as UTF-8.") from None
        read = error.object  # without a byte order mark
        line = read.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{where} is not valid TOML: byte 0x{read[error.start]:02x} is not UTF-8 (at line {line})."
        ) from None


def read_toml(path: str | Path) -> dict:
    """The values in a TOML file.

    Raises:
      ValueError: when it is missing, not valid, nested too deeply, or larger than 1 MiB.
    """
    return parse_toml(read_content(path, "TOML", _LARGEST), str(path))
