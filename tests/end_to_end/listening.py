"""When a command says something: the time of each of its lines, by the clock and by the work in between."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from kbert.log_lines import shortened

REPOSITORY = Path(__file__).resolve().parents[2]


class Line(NamedTuple):
    """A line of standard output or error.

    Fields:
      seconds: since the command was started, by the clock.
      work: seconds of CPU that the process and its children had used by then.
      text: what it says; "" for the end of the command.
    """

    seconds: float
    work: float
    text: str


class Heard(NamedTuple):
    """A command that has ended.

    Fields:
      exit_code: of the process.
      lines: in order; the last one is the end.
    """

    exit_code: int
    lines: list[Line]

    def gaps(self) -> list[tuple[float, float, str]]:
        """(seconds of silence, the same by the clock, the line before) for each line and the end.

        A silence counts as long as it was by the clock and by the work done in it, whichever is shorter: a
        machine that stands still, or works for others, makes the first longer, several threads the second.
        """
        start = Line(0.0, 0.0, "the start")
        pairs = zip([start, *self.lines], self.lines, strict=False)
        return [
            (min(b.seconds - a.seconds, b.work - a.work), b.seconds - a.seconds, a.text) for a, b in pairs
        ]


def listen(command: list[str], stdin: str = "", until: str | None = None) -> Heard:
    """Runs `kbert COMMAND` as a process of its own, both of its streams in one pipe.

    Args:
      command: what follows `kbert`.
      stdin: the text on its standard input.
      until: the process is ended (SIGTERM) at a line that has this in it.
    """
    began, lines = time.monotonic(), []
    process = subprocess.Popen(
        [sys.executable, "-m", "kbert", *command], cwd=REPOSITORY, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    with process:
        process.stdin.write(stdin)
        process.stdin.close()
        for text in process.stdout:
            lines.append(Line(time.monotonic() - began, work_of(process.pid), text.rstrip("\n")))
            if until and until in text:
                process.terminate()
        # The work of children that nobody waited for is lost with them.
        work = max([work_of(process.pid), *(line.work for line in lines)])
        lines.append(Line(time.monotonic() - began, work, ""))
    return Heard(process.returncode, lines)


def work_of(root: int) -> float:
    """Seconds of CPU of a process, of its children, and so on; what has ended counts with its parent."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        number = int(path.parent.name)
        # proc(5): state, parent, ... and from the 12th on utime, stime, cutime, cstime.
        parents[number], ticks[number] = int(fields[1]), sum(map(int, fields[11:15]))
    own, found = {root}, ticks.get(root, 0)
    while below := {number for number, parent in parents.items() if parent in own} - own:
        own |= below
        found += sum(ticks[number] for number in below)
    return found / os.sysconf("SC_CLK_TCK")


def told(heard: Heard) -> str:
    """The lines with their times, for a test that failed."""
    return "\n".join(f"{one.seconds:7.2f} s {one.work:7.2f} s  {shortened(one.text)}" for one in heard.lines)
