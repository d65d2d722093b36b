"""When a command says something: the time of each of its lines, but for what the machine stood still."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from kbert.log_lines import shortened

REPOSITORY = Path(__file__).resolve().parents[2]


class Line(NamedTuple):
    """A line of standard output or error.

    Fields:
      seconds: since the command was started.
      text: what it says; "" for the end of the command.
    """

    seconds: float
    text: str


class Heard(NamedTuple):
    """A command that has ended.

    Fields:
      exit_code: of the process.
      lines: in order; the last one is the end.
    """

    exit_code: int
    lines: list[Line]

    def silences(self) -> list[float]:
        """The seconds before each line, and before the end."""
        times = [0.0, *(line.seconds for line in self.lines)]
        return [after - before for before, after in zip(times, times[1:], strict=False)]


class RunningSeconds:
    """The seconds in which this machine ran, for a `with` block.

    A thread that only sleeps is woken late when the whole machine stands still, also where others wait for a
    core: it needs none. What it slept too long is not counted.
    """

    _PERIOD, _LATE = 0.1, 0.3

    def __init__(self):
        self._lost, self._ended = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def now(self) -> float:
        """Seconds since the block began."""
        return time.monotonic() - self._began - self._lost

    def _watch(self):
        looked = time.monotonic()
        while not self._ended.wait(self._PERIOD):
            looked, before = time.monotonic(), looked
            late = looked - before - self._PERIOD
            self._lost += late if late > self._LATE else 0.0


def listen(command: list[str], stdin: str = "", until: str | None = None) -> Heard:
    """Runs `kbert COMMAND` as a process of its own, both of its streams in one pipe.

    Args:
      command: what follows `kbert`.
      stdin: the text on its standard input.
      until: the process is ended (SIGTERM) at a line that has this in it.
    """
    lines = []
    with RunningSeconds() as clock:
        process = subprocess.Popen(
            [sys.executable, "-m", "kbert", *command], cwd=REPOSITORY, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        with process:
            process.stdin.write(stdin)
            process.stdin.close()
            for text in process.stdout:
                lines.append(Line(clock.now(), text.rstrip("\n")))
                if until and until in text:
                    process.terminate()
            lines.append(Line(clock.now(), ""))
    return Heard(process.returncode, lines)


def told(heard: Heard) -> str:
    """The lines with their times, for a test that failed."""
    return "\n".join(f"{one.seconds:7.2f} s  {shortened(one.text)}" for one in heard.lines)
