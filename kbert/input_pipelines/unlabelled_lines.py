"""What is to be answered: lines of a file or of standard input -> examples."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kbert.cli.progress import awaited
from kbert.files.compression import name_when_unpacked
from kbert.files.json_file import parse_json
from kbert.files.text_file import bounded_lines

_ONE_LINE = {("text",): 1, ("text", "text_pair"): 2}


def examples_of_lines(
    inputs: tuple[str, ...], lines: Iterable[str], place: str, json_lines: bool = False
) -> Iterator[dict]:
    """The examples of lines.

    A line is a text; or two texts with a tab between them for a task on pairs; or a JSON object, whose keys
    are the inputs, for other tasks and with `json_lines`.

    Args:
      inputs: the inputs of the task.
      lines: the lines.
      place: where they are from, for messages.
      json_lines: whether every line is a JSON object.

    Raises:
      ValueError: for a line of another form; the message names `place` and the line.
    """
    number_of_texts = None if json_lines else _ONE_LINE.get(tuple(inputs))
    for number, line in enumerate(lines, start=1):
        where = f"{place} line {number}"
        if number_of_texts is None:
            example = parse_json(line, where)
            if not isinstance(example, dict):
                raise ValueError(f"{where}: expected an object with {', '.join(inputs)}.")
            yield example
        elif number_of_texts == 1:
            yield {"text": line}
        elif line.count("\t") != 1:
            raise ValueError(f"{where}: expected two texts with a tab between them.")
        else:
            yield dict(zip(inputs, line.split("\t"), strict=True))


def holds_json_lines(path: str | Path) -> bool:
    """Whether a file's name ends in .jsonl, before the ending of a compressed one."""
    return name_when_unpacked(path).endswith(".jsonl")


def lines_of_standard_input() -> Iterator[str]:
    """The lines of standard input, read as UTF-8 whatever the encoding of the system is."""
    for number, line in enumerate(awaited(bounded_lines(sys.stdin.buffer, "standard input")), start=1):
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input line {number} is not UTF-8 (byte 0x{line[error.start]:02x}); convert it, "
                "for example with iconv."
            ) from None
