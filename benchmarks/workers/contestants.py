"""Starts workers and lets them take their steps in turn; benchmarks/peers/turns.py is the workers' side."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.workers import environments
from kbert.cli.progress import activity


@dataclass
class Record:
    """What a contestant did.

    Args:
      facts: what it reported when it was ready, for example versions.
      steps: a dict for every step, with `seconds`, `cpu_seconds` and what else it reported.
      result: what it reported at its end; None before that.
      peak_megabytes: the most memory it held (resident set).
    """

    facts: dict = field(default_factory=dict)
    steps: list[dict] = field(default_factory=list)
    result: dict | None = None
    peak_megabytes: float = 0.0


class Contestant:
    """A worker process that waits whenever it is not its turn.

    Args:
      name: its name in tables.
      command: starts the worker, in the repository's root.
      settings: a dict that JSON can write; sent to the worker first.
      threads: how many cores it may use; also the size of OpenMP's pool.
      first_core: how many of the cores that this process may use it leaves to others, from the first on.
    """

    def __init__(self, name: str, command: list[str], settings: dict, threads: int, first_core=0):
        self.name = name
        self.record = Record()
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        allowed = sorted(os.sched_getaffinity(0))
        cores = allowed[first_core : first_core + threads] or allowed
        self._process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=os.environ | {"OMP_NUM_THREADS": str(threads), "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        try:
            with activity(f"{name} starts"):
                self.record.facts = self._ask(settings | {"threads": threads})["ready"]
        except BaseException:
            self.close()
            raise

    @property
    def is_done(self) -> bool:
        return self.record.result is not None

    def take_turn(self, num_steps: int):
        """Lets the worker take `num_steps` steps, or fewer if fewer are left."""
        answer = self._ask({"steps": num_steps})
        self.record.steps += answer["steps"]
        self.record.result = answer.get("result")

    def close(self):
        """Ends the worker, whatever it is doing."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._process.kill()
        self._process.wait()
        self._said.close()

    def _ask(self, message) -> dict:
        """Sends a message and returns the answer; ValueError with its last output if the worker has died."""
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


@contextlib.contextmanager
def started(names: Iterable[str], kind: str, settings: dict) -> Iterator[list[Contestant]]:
    """Workers that are ready, each with --threads or its option "one_thread"; they end with the block.

    Args:
      names: as "hugging_face/bfloat16+compile", see benchmarks/workers/environments.py.
      kind: of work: that of the workers' files, `SYSTEM_KIND.py`.
      settings: of all; each gets its `precision` and its `options` in addition.
    """
    with contextlib.ExitStack() as stack:
        workers = []
        for name in names:
            system, precision, options = environments.parts_of(name)
            wanted = settings | {"precision": precision, "options": options}
            threads = 1 if "one_thread" in options else flags.FLAGS.threads
            worker = Contestant(name, environments.command_of(system, kind), wanted, threads)
            stack.callback(worker.close)
            print(f"  {name}: {worker.record.facts}", flush=True)
            workers.append(worker)
        yield workers


def alternate(contestants: list, num_rounds: int | None, steps_per_turn: float):
    """Gives each contestant a turn in every round; every other round in reverse, so that neighbours change.

    Args:
      contestants: those that are done are skipped.
      num_rounds: how many rounds; None continues until all are done.
      steps_per_turn: how many steps a contestant takes in its turn.
    """
    number = 0
    with activity("the first turn") as now:
        while number != num_rounds and not all(contestant.is_done for contestant in contestants):
            for contestant in contestants[:: 1 if number % 2 == 0 else -1]:
                if not contestant.is_done:
                    now.text = f"round {number + 1} of {num_rounds or '?'}, {contestant.name}"
                    contestant.take_turn(steps_per_turn)
            number += 1
