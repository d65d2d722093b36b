"""What a script is busy with: named by `activity`, counted by `Progress`, logged inside `log_activities`.

On a terminal, lines of progress take each other's place below everything else. A file gets whole lines, few
of them. A program that only imports kbert gets no lines about activities.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

from absl import logging

# `logging.info(..., extra=PROGRESS)`: on a terminal, the next such line takes the place of this one.
PROGRESS = {"is_progress": True}
# The longest silence before a line says what goes on.
SECONDS_ON_A_TERMINAL, SECONDS_IN_A_FILE = 3.0, 30.0
_CHECK_SECONDS = 0.25
_SHORTEST_SECONDS = 1.0  # of an activity that is logged

Item = TypeVar("Item")


class _Activity:
    """Attributes: `text`, which may be changed while it goes on; `began`, by time.monotonic."""

    def __init__(self, text: str | None):
        self.text, self.began = text, monotonic()


_going_on: list[_Activity] = []


@contextlib.contextmanager
def activity(text: str | None) -> Iterator[_Activity]:
    """Names what goes on inside: "evaluation", "checkpoint of step 300". The innermost one is logged.

    Args:
      text: the name. None: the script waits for others, as a server does for requests, and nothing is logged.
    """
    own = _Activity(text)
    _going_on.append(own)
    try:
        yield own
    finally:
        _going_on.remove(own)


def awaited(items: Iterable[Item]) -> Iterator[Item]:
    """The items; nothing is logged while the next one is not there yet: for lines of standard input."""
    items = iter(items)
    with contextlib.suppress(StopIteration):
        while True:
            with activity(None):
                item = next(items)
            yield item


class Progress:
    """Logs how far a piece of work is, how fast it goes and how long it will take, as tqdm writes it.

    "Wrote: 25%|██▌       | 1000/4000 [00:12<00:30, 100.00 examples/s]". The rate is that since the first
    report: before it lie the start of workers and the loading of TensorFlow.

    Args:
      what: the past tense of the work, for example "Wrote".
      unit: what is counted, for example "examples" or "bytes".
      total: how many there will be, or None.
      already_done: how many of them an earlier run has done; they do not count for the rate.
    """

    def __init__(self, what: str, unit: str, total: int | None, *, already_done: int = 0):
        self._what, self._unit, self._total, self._already_done = what, unit, total, already_done
        self._done, self._began, self._told = already_done, monotonic(), 0.0

    def report(self, done: int):
        """Notes how many are done, and logs a line when it is time for one; none when all are done."""
        self._done, now = done, monotonic()
        if not self._told:
            self._told = self._first_report = now
            self._first_done = done
        if now - self._told >= _seconds_between_lines and done != self._total:
            self._told = now
            logging.info("%s", self._line(now), extra=PROGRESS)

    def _line(self, now):
        from tqdm import tqdm

        rate = (self._done - self._first_done) / max(now - self._first_report, 1e-9)
        return tqdm.format_meter(
            self._done, self._total, now - self._began, prefix=self._what, unit=f" {self._unit}",
            unit_scale=self._unit == "bytes", rate=rate,
        )  # fmt: skip

    def report_end(self, where: str = ""):
        """Logs the last line.

        Args:
          where: where the results are, if that is to be said.
        """
        done, seconds = self._done - self._already_done, max(monotonic() - self._began, 1e-9)
        rate = f"{done / seconds:,.1f} {self._unit}/s" + (f" -> {where}" if where else ".")
        logging.info("%s %s %s in %.1f s, %s", self._what, f"{done:,}", self._unit, seconds, rate)


_seconds_between_lines = SECONDS_IN_A_FILE


@contextlib.contextmanager
def log_activities(script: str) -> Iterator[None]:
    """Inside, absl's log says what goes on whenever nothing else was logged for a while.

    Args:
      script: what is logged for work without a name.
    """
    # A way of its own to standard error, for the time in which TensorFlow's import sets that aside.
    stream = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors="backslashreplace")
    logging.get_absl_handler().python_handler.setStream(stream)
    on_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    longest = SECONDS_ON_A_TERMINAL if on_terminal else SECONDS_IN_A_FILE
    on_one_line = _progress_on_one_line(stream) if on_terminal else contextlib.nullcontext()
    with on_one_line, log_when_silent(script, longest):
        yield


@contextlib.contextmanager
def log_when_silent(script: str, longest: float) -> Iterator[None]:
    """Logs the innermost activity whenever nothing was logged for so many seconds, by a thread of its own.

    Args:
      script: what is logged for work without a name.
      longest: the seconds.
    """
    global _seconds_between_lines
    last_line, ended, logger = monotonic(), threading.Event(), logging.get_absl_logger()

    def note_time(record):
        nonlocal last_line
        last_line = monotonic()
        return True

    def log_activity():
        nonlocal last_line
        while not ended.wait(_CHECK_SECONDS):
            going_on, now = list(_going_on), monotonic()
            if going_on[-1].text is None:
                last_line = now
            elif now - last_line > longest:
                # Not a step that is over at once: what it is part of.
                long_enough = (
                    own for own in reversed(going_on) if now - own.began >= min(longest, _SHORTEST_SECONDS)
                )
                own = next(long_enough, going_on[0])
                logging.info("%s: %d s so far", own.text, now - own.began, extra=PROGRESS)

    logger.addFilter(note_time)
    _seconds_between_lines = longest
    thread = threading.Thread(target=log_activity, name="activities", daemon=True)
    with activity(script):
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            _seconds_between_lines = SECONDS_IN_A_FILE
            logger.removeFilter(note_time)


@contextlib.contextmanager
def _progress_on_one_line(terminal):
    """Inside, tqdm keeps the newest line of progress below all that is logged and printed."""
    from tqdm import tqdm
    from tqdm.contrib import DummyTqdmFile

    tqdm.monitor_interval = 0  # no thread that draws the line again by itself
    tqdm.set_lock(threading.RLock())  # its own reaches other processes, which write no such line
    line = tqdm(total=1, bar_format="{desc}", file=terminal, leave=False, dynamic_ncols=True)
    shown, above = logging.get_absl_handler(), DummyTqdmFile(terminal)
    stdout = DummyTqdmFile(terminal) if sys.stdout.isatty() else sys.stdout

    def show_above(record):
        is_progress = getattr(record, "is_progress", False)
        line.set_description_str(record.getMessage() if is_progress else "")
        return not is_progress

    shown.addFilter(show_above)
    shown.python_handler.setStream(above)
    try:
        with contextlib.redirect_stdout(stdout):
            yield
    finally:
        shown.removeFilter(show_above)
        shown.python_handler.setStream(terminal)
        line.close()
