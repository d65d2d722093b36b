"""The worker's side of an alternating benchmark: takes steps when told to, and reports their time.

A worker is a process that holds one contestant. It reads JSON lines from standard input and answers each with
one line on standard output:

  its settings                  -> {"ready": ...}
  {"steps": 3}                  -> {"steps": [{"seconds": ..., "cpu_seconds": ..., ...}, ...]}
  {"steps": 3}, its last steps  -> {"steps": [...], "result": {...}}

The worker ends when its input ends. Everything else that is printed goes to standard error. Standard library
only: every peer runs this in its own environment.
"""

import json
import os
import sys
import time


class Turns:
    """Reads the settings; after that, only answers reach standard output.

    Attributes:
      settings: the dict that the other side sent.
      peak_megabytes: the most memory that this process held; a worker on a GPU puts the GPU's here.
    """

    def __init__(self):
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.settings = json.loads(sys.stdin.readline())
        self._granted = 0
        self._taken = []
        self._began = None
        self._values = {}
        self.peak_megabytes = _peak_megabytes

    def ready(self, **facts):
        """Reports that the contestant is built and ready, with facts such as versions."""
        self._answer({"ready": facts})

    def next_step(self) -> bool:
        """Waits until a step may be taken. The step ends at the next call of this, or at `end_step`.

        Returns:
          False when there are no more steps to take.
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
        """Adds numbers to the report of the current step, for example its loss."""
        self._values |= values

    def take_steps(self, step):
        """Takes steps until there are no more to take; `step` takes one, and returns what to report."""
        while self.next_step():
            self.report(**step())

    def repeat(self, run, result):
        """Takes `rounds` steps (of the settings), each a call of `run`; then reports the dict `result()`."""
        for _ in range(self.settings["rounds"]):
            if not self.next_step():
                return
            run()
        self.finish(**result())

    def answer_batches(self, answer):
        """Takes a step for each batch of the settings: `rounds` times all batches of each size.

        Args:
          answer: a batch, such as a list of texts -> an array with a row for each.
        """
        batches = self.settings["batches"]
        for _ in range(self.settings["rounds"]):
            answers = []
            for size, texts_of_size in batches.items():
                for texts in texts_of_size:
                    if not self.next_step():
                        return
                    found = answer(texts)
                    self.end_step(size=int(size))
                    answers += found.tolist()
        self.finish(answers=answers)

    def finish(self, **result):
        """Reports that there are no more steps, and the result."""
        self.end_step()
        self._answer({"steps": self._taken, "result": result})

    def end_step(self, **values: float):
        """Ends the current step, so that what follows is not timed; `values` as for `report`."""
        if self._began is None:
            return
        began, cpu_began = self._began
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        self.report(**values)
        self._taken.append({"seconds": seconds, "cpu_seconds": cpu_seconds} | self._values)
        self._began, self._values = None, {}

    def _answer(self, message):
        self._answers.write(json.dumps(message | {"peak_megabytes": self.peak_megabytes()}) + "\n")
        self._answers.flush()


def _peak_megabytes() -> float:
    # Not getrusage's ru_maxrss: that counts the memory of the process that started this one, too.
    with open("/proc/self/status", encoding="ascii") as status:
        kibibytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
    return int(kibibytes) * 1024 / 1e6
