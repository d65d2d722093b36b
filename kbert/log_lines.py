"""What becomes of log lines: how wide they are, and which of them are progress.

`LineFormatter` is set by `command_line.run` alone. A program that only imports kbert sees its log records
as they are; the marks below are then attributes that nobody reads.
"""

import contextlib
import logging as standard_logging
import textwrap

from absl import logging

WIDTH = 100  # columns of a line
_INDENT = "    "  # of what a line is continued with
# `logging.info(..., extra=PROGRESS)`: on a terminal, the next such line takes the place of this one.
PROGRESS = {"is_progress": True}
# `logging.info(..., extra=SHORTENED)`: a long line is cut, because its beginning says enough.
SHORTENED = {"is_shortened": True}


def is_progress(record: standard_logging.LogRecord) -> bool:
    """Whether a record was logged with `extra=PROGRESS`."""
    return getattr(record, "is_progress", False)


@contextlib.contextmanager
def only_progress():
    """Hides, of this process's lines below a warning, all but progress; for tools that a script calls."""

    def is_shown(record):
        return is_progress(record) or record.levelno >= standard_logging.WARNING

    handler = logging.get_absl_handler()
    handler.addFilter(is_shown)
    try:
        yield
    finally:
        handler.removeFilter(is_shown)


class LineFormatter(standard_logging.Formatter):
    """The message without a prefix, in lines of at most WIDTH columns.

    A long line is folded between words. A word that is longer than a line, such as a path, stays whole.
    """

    def __init__(self):
        super().__init__("%(message)s")

    def formatMessage(self, record):
        shorten = shortened if getattr(record, "is_shortened", False) else folded
        return "\n".join(map(shorten, super().formatMessage(record).split("\n")))


def folded(line: str) -> str:
    """The line, continued in the next ones where it is longer than WIDTH columns."""
    if len(line) <= WIDTH:
        return line
    return textwrap.fill(
        line,
        WIDTH,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def shortened(line: str, width: int = WIDTH) -> str:
    """The first `width` columns of a line, with an ellipsis in the place of the rest."""
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"
