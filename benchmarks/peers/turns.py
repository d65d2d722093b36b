"""The worker's side of an alternating benchmark: takes a step when it is told to, and says what it took.

A worker is a process that holds one contestant, ready to go on. It reads JSON lines on standard input and
answers on standard output, one line each:

  its settings                  -> {"ready": ...}
  {"steps": 3}                  -> {"steps": [{"seconds": ..., "cpu_seconds": ..., ...}, ...]}
  {"steps": 3}, its last steps  -> {"steps": [...], "result": {...}}

The end of the input ends the worker. What anything else prints goes to standard error. Standard library
only: every peer runs this in an environment of its own.
"""

import json
import os
import resource
import sys
import time


class Turns:
    """Reads the settings; from then on nothing but answers reaches standard output.

    Attributes:
      settings: the dict that the other side sent.
    """

    def __init__(self):
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.settings = json.loads(sys.stdin.readline())
        self._granted = 0
        self._taken = []
        self._began = None
        self._values = {}

    def ready(self, **facts):
        """Says that the contestant is built and warm, and what it is made of."""
        self._answer({"ready": facts})

    def next_step(self) -> bool:
        """Waits until a step may be taken; it lasts until this is called again, or `end_step`.

        Returns:
          False when there will be none any more.
        """
        self.end_step()
        while not self._granted:
            if self._taken:
                self._answer({"steps": self._taken})
                self._taken = []
            line = sys.stdin.readline()
            if not line:
                return False
            self._granted = json.loads(line)["steps"]
        self._granted -= 1
        self._began = time.perf_counter(), time.process_time()
        return True

    def report(self, **values: float):
        """Numbers of the step that is being taken, for example its loss."""
        self._values |= values

    def finish(self, **result):
        """Says that there are no more steps, and what came out."""
        self.end_step()
        self._answer({"steps": self._taken, "result": result})

    def end_step(self):
        """Ends the step now: what comes before the next one is no part of it."""
        if self._began is None:
            return
        began, cpu_began = self._began
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        self._taken.append({"seconds": seconds, "cpu_seconds": cpu_seconds} | self._values)
        self._began, self._values = None, {}

    def _answer(self, message):
        # ru_maxrss is in KiB on Linux.
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        self._answers.write(json.dumps(message | {"peak_megabytes": peak}) + "\n")
        self._answers.flush()
