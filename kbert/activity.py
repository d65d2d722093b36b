"""What a script is busy with, told when nothing else is.

Long work names itself with `activity`. A script that was started by `command_line.run` logs that name
whenever nothing else was logged for SILENT_SECONDS, and the first time already after FIRST_SECONDS. Work
without a name is told as well, by the name of the script. A program that only imports kbert hears nothing.
"""

import contextlib
import logging as standard_logging
import threading
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

from absl import logging

from kbert.log_lines import PROGRESS

FIRST_SECONDS, SILENT_SECONDS = 1.0, 5.0
_CHECK_SECONDS = 0.25
_EARLY = 0.7  # a line is due after this share of the longest silence: a call into C++ may hold it up
_AT_REST = "at rest"

Item = TypeVar("Item")


class _Activity:
    """Attributes: `text`, which may be changed while it goes on; `began`, by time.monotonic."""

    def __init__(self, text: str):
        self.text, self.began = text, monotonic()


_going_on: list[_Activity] = []


@contextlib.contextmanager
def activity(text: str) -> Iterator[_Activity]:
    """Names what goes on inside: "evaluation", "checkpoint of step 300". The innermost one is told."""
    own = _Activity(text)
    _going_on.append(own)
    try:
        yield own
    finally:
        _going_on.remove(own)


@contextlib.contextmanager
def at_rest() -> Iterator[None]:
    """Inside, nothing is told: the script waits for others, as a server does for requests."""
    with activity(_AT_REST):
        yield


def awaited(items: Iterable[Item]) -> Iterator[Item]:
    """The items, at rest while the next one is not there yet: for lines of standard input."""
    items = iter(items)
    while True:
        with at_rest():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


class _Heard(standard_logging.Handler):
    """Whether anything was logged that is shown: lines that absl's handler hides do not count."""

    def __init__(self):
        super().__init__()
        self._new = False

    def filter(self, record):
        return logging.get_absl_handler().filter(record)

    def emit(self, record):
        self._new = True

    def anything_new(self) -> bool:
        """Whether there was a line since the last call."""
        new, self._new = self._new, False
        return new


@contextlib.contextmanager
def told_when_silent(
    silent_seconds: float | None = None, first_seconds: float | None = None, script: str = "at work"
):
    """Logs what goes on whenever nothing was logged for so many seconds, by a thread of its own.

    Of the seconds in which the machine stands still, and this process with it, few are counted: nobody could
    be told anything.

    Args:
      silent_seconds: the longest silence; by default SILENT_SECONDS.
      first_seconds: the same until the first line, for work that has a name; by default FIRST_SECONDS.
      script: what is told of work without a name.
    """
    first = FIRST_SECONDS if first_seconds is None else first_seconds
    longest = SILENT_SECONDS if silent_seconds is None else silent_seconds
    heard, ended, began = _Heard(), threading.Event(), monotonic()
    check = min(_CHECK_SECONDS, longest / 4)

    def tell():
        silent, is_first, looked = 0.0, True, began
        while not ended.wait(check):
            looked, before = monotonic(), looked
            own = _going_on[-1:]
            if heard.anything_new() or (own and own[0].text is _AT_REST):
                silent, is_first = 0.0, False
                continue
            silent += min(looked - before, 2 * check)
            if silent + check > (first if is_first and own else _EARLY * longest):
                text, since = (own[0].text, own[0].began) if own else (script, began)
                seconds = int(looked - since)
                lasts = f"{text}: {seconds} s so far" if seconds else f"{text} ..."
                logging.info("%s", lasts, extra=PROGRESS)

    logger = logging.get_absl_logger()
    logger.addHandler(heard)
    thread = threading.Thread(target=tell, name="told_when_silent", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        logger.removeHandler(heard)
