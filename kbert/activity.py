"""What a script is busy with, told when nothing else is.

Long work names itself with `activity`. A script that was started by `command_line.run` logs that name
whenever nothing else was logged for SILENT_SECONDS. A program that only imports kbert hears nothing.
"""

import contextlib
import logging as standard_logging
import threading
import time
from collections.abc import Iterator

from absl import logging

SILENT_SECONDS = 5.0
_CHECK_SECONDS = 0.5


class _Activity:
    """Attributes: `text`, which may be changed while it goes on; `began`, by time.monotonic."""

    def __init__(self, text: str):
        self.text, self.began = text, time.monotonic()


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


class _LastLine(standard_logging.Handler):
    """Remembers when something was logged that is shown: lines that absl's handler hides do not count."""

    def __init__(self):
        super().__init__()
        self.time = time.monotonic()
        for shown in logging.get_absl_handler().filters:
            self.addFilter(shown)

    def emit(self, record):
        self.time = time.monotonic()


@contextlib.contextmanager
def told_when_silent(silent_seconds: float = SILENT_SECONDS):
    """Logs the activity whenever nothing was logged for so many seconds, by a thread of its own."""
    last, ended = _LastLine(), threading.Event()
    logger = logging.get_absl_logger()

    def tell():
        while not ended.wait(min(_CHECK_SECONDS, silent_seconds / 2)):
            now, busy = time.monotonic(), _going_on[-1:]
            if busy and now - max(last.time, busy[0].began) >= silent_seconds:
                logging.info("%s: %d s so far", busy[0].text, now - busy[0].began)

    logger.addHandler(last)
    thread = threading.Thread(target=tell, name="told_when_silent", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        logger.removeHandler(last)
