"""The other side of benchmarks/peers/turns.py: starts workers and lets them step in turn."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field


@dataclass
class Record:
    """What a contestant did.

    Args:
      facts: what it said of itself when it was ready, for example versions.
      steps: a dict for every step, with `seconds`, `cpu_seconds` and what else it reported.
      result: what it said at its end, or None.
      peak_megabytes: the most memory it held (resident set).
    """

    facts: dict = field(default_factory=dict)
    steps: list[dict] = field(default_factory=list)
    result: dict | None = None
    peak_megabytes: float = 0.0


class Contestant:
    """A worker process that waits whenever it is not its turn.

    Args:
      name: how the tables call it.
      command: starts the worker.
      settings: JSON-ready, sent to it first.
      threads: cores it may use; also the size of OpenMP's pool.
      cwd: where it runs.
      first_core: how many of the cores that this process may use are left to others.
    """

    def __init__(self, name: str, command: list[str], settings: dict, threads: int, cwd=None, first_core=0):
        self.name = name
        self.record = Record()
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        allowed = sorted(os.sched_getaffinity(0))
        cores = allowed[first_core : first_core + threads] or allowed
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env=os.environ | {"OMP_NUM_THREADS": str(threads), "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        try:
            self.record.facts = self._ask(settings | {"threads": threads})["ready"]
        except BaseException:
            self.close()
            raise

    @property
    def is_done(self) -> bool:
        return self.record.result is not None

    def take_turn(self, num_steps: int):
        """Lets it take so many steps, or as many as it has left."""
        answer = self._ask({"steps": num_steps})
        self.record.steps += answer["steps"]
        self.record.result = answer.get("result")

    def close(self):
        """Ends the worker, wherever it is."""
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def _ask(self, message) -> dict:
        """Raises ValueError with the end of what the worker said, when it has died."""
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            self._said.seek(0)
            raise ValueError(
                f"{self.name} ended with exit code {self._process.returncode}: {self._said.read()[-2000:]}"
            )
        answer = json.loads(line)
        self.record.peak_megabytes = answer["peak_megabytes"]
        return answer


def alternate(contestants: list[Contestant], num_rounds: int | None, steps_per_turn: int, show=None):
    """A turn for each, again and again; every other round in reverse, so that neighbours change.

    Args:
      contestants: those that are done are passed over.
      num_rounds: None goes on until all are done.
      steps_per_turn: steps that each takes before the next one's turn.
      show: called with every contestant after its turn.
    """
    number = 0
    while number != num_rounds and not all(contestant.is_done for contestant in contestants):
        for contestant in contestants[:: 1 if number % 2 == 0 else -1]:
            if not contestant.is_done:
                contestant.take_turn(steps_per_turn)
                if show:
                    show(contestant)
        number += 1
