"""Runs a command and measures time and memory of it and all its child processes. Linux only (/proc)."""

import os
import re
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks import REPOSITORY

SECONDS_BETWEEN_LOOKS = 0.2


class Cost(NamedTuple):
    """Wall seconds, and the highest sum of the processes' memory in MB.

    Memory is the proportional set size: pages that several processes share count once.
    """

    seconds: float
    megabytes: float


def run(command: list[str], cores: int) -> Cost:
    """Runs a command in the repository's root, on the first `cores` cores that this process may use.

    Raises:
      ValueError: when the command fails, with the end of its output.
    """
    mine = sorted(os.sched_getaffinity(0))[:cores]
    start = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, mine),
    )
    peak, ended = [0], threading.Event()

    def look():
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            peak[0] = max(peak[0], sum(map(_memory, _tree(process.pid))))

    watcher = threading.Thread(target=look)
    watcher.start()
    with process:
        try:
            said, _ = process.communicate()
            seconds = time.monotonic() - start
        finally:
            process.kill()  # where this process was interrupted; else it has ended
            ended.set()
            watcher.join()
    if process.returncode:
        raise ValueError(f"{' '.join(command[:4])} ... ended with {process.returncode}: {said[-2000:]}")
    return Cost(seconds, peak[0] / 1e6)


def _tree(pid) -> list[int]:
    found = [pid]
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += _tree(int(child))
    except OSError:  # it has just ended
        pass
    return found


def _memory(pid) -> int:
    try:
        found = re.search(r"^Pss: *(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0
