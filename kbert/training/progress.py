"""What a person sees while a run goes on: a line an interval, and metrics.jsonl."""

import contextlib
import json
import math
import time

from absl import logging


class Progress:
    """Writes metrics to metrics.jsonl and a readable line to the log.

    Args:
      metrics_file: path of metrics.jsonl, appended to.
      num_steps: steps of the whole run.
      examples_per_step: the global batch size.
      start_step: where this process begins.
      clock: seconds; an argument so that tests can set it.
    """

    def __init__(self, metrics_file, num_steps, examples_per_step, start_step=0, clock=time.monotonic):
        self._metrics_file = metrics_file
        self._num_steps = num_steps
        self._examples_per_step = examples_per_step
        self._clock = clock
        self._last = (start_step, clock())
        self._seconds_per_step = None

    def train(self, step: int, metrics: dict, learning_rate: float):
        """Records the means since the last call.

        Raises:
          FloatingPointError: when a value is not finite, naming the steps it came from.
        """
        last_step, last_time = self._last
        broken = [name for name, value in metrics.items() if not math.isfinite(value)]
        if broken:
            raise FloatingPointError(
                f"{', '.join(broken)} became non-finite between steps {last_step + 1} and {step}: lower "
                "optimizer.learning_rate, lengthen the warm-up, or use precision=float32. The last good "
                "checkpoint is kept."
            )
        now = self._clock()
        seconds = (now - last_time) / max(step - last_step, 1)
        # The first interval holds tracing and compilation, so it alone is no forecast.
        first = self._seconds_per_step is None
        self._seconds_per_step = seconds if first else 0.5 * (self._seconds_per_step + seconds)
        self._last = (step, now)
        rate = self._examples_per_step / seconds if seconds else 0.0
        left = (self._num_steps - step) * self._seconds_per_step
        self._append(
            {"step": step, "split": "train"}
            | metrics
            | {"learning_rate": learning_rate, "examples_per_second": round(rate, 1)}
        )
        shown = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())
        logging.info(
            "step %d/%d  %s  lr %.3g  %.1f examples/s  %s left",
            step, self._num_steps, shown, learning_rate, rate, readable_seconds(left),
        )  # fmt: skip

    def evaluate(self, step: int, metrics: dict, split: str = "eval"):
        """Records an evaluation; values may be nested lists (a confusion matrix)."""
        self._append({"step": step, "split": split} | metrics)
        shown = "  ".join(f"{k} {v:.4g}" for k, v in metrics.items() if isinstance(v, float))
        logging.info("step %d/%d  %s: %s", step, self._num_steps, split, shown)

    @contextlib.contextmanager
    def paused(self):
        """Leaves out of the rate what is not training: evaluations and checkpoints."""
        start = self._clock()
        yield
        step, last_time = self._last
        self._last = (step, last_time + self._clock() - start)

    def _append(self, values):
        with open(self._metrics_file, "a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")


def readable_seconds(seconds: float) -> str:
    """12 -> "12s", 75 -> "1m15s", 3700 -> "1h01m"."""
    seconds = int(round(seconds))
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02d}m"


def read_metrics(metrics_file) -> list[dict]:
    """The lines of a metrics.jsonl; a half-written last line (a kill) is left out."""
    lines = []
    with open(metrics_file, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                lines.append(json.loads(line))
    return lines


def forget_metrics_after(metrics_file, step: int, with_evaluation: bool = False):
    """Drops the lines after `step`, which a resumed run will write again.

    Args:
      metrics_file: path of metrics.jsonl; it need not exist.
      step: the last step that stays.
      with_evaluation: drop the evaluation at `step` itself as well.
    """
    if not metrics_file.is_file():
        return
    kept = [
        line
        for line in read_metrics(metrics_file)
        if line["step"] < step or line["step"] == step and not (with_evaluation and line["split"] == "eval")
    ]
    aside = metrics_file.with_name(metrics_file.name + ".tmp")
    aside.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
    aside.replace(metrics_file)
