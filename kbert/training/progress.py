"""What a person sees while a run goes on: a line an interval, and metrics.jsonl."""

import contextlib
import json
import math
import os
import time
from pathlib import Path

from absl import logging

from kbert.files.whole_file import write_text

# What depends on the machine and the hour; everything else in metrics.jsonl is the same whenever a run is
# repeated, killed and resumed or not.
CLOCK_FIELDS = (
    "examples_per_second",
    "tokens_per_second",
    "flops_per_second",
    "share_of_peak",
    "elapsed_seconds",
    "time",
)


class Progress:
    """Writes metrics to metrics.jsonl and a readable line to the log.

    A line of metrics.jsonl is one JSON object: `step` (the optimizer steps taken), `split` ("train" or that
    of an evaluation), the metrics, and

      learning_rate        that of the last step;
      examples_per_second, tokens_per_second   of the interval; tokens are real ones, padding does not count;
      token_share          real tokens among all places of the batches: the rest is padding;
      tokens_seen          real tokens of the run so far, from `work`;
      flops_per_second     useful arithmetic, see `training_flops`; share_of_peak relates it to the peak;
      elapsed_seconds      of the run so far, evaluations and checkpoints included, stops left out;
      time                 seconds since 1970.

    Rates leave out evaluations and checkpoints; the time left counts them in the proportion they had so far.

    Args:
      metrics_file: path of metrics.jsonl, appended to; what it already holds of earlier processes goes on.
        None writes nothing: for workers beside the chief.
      num_steps: steps of the whole run.
      examples_per_step: the global batch size.
      start_step: where this process begins.
      clock: seconds; an argument so that tests can set it.
      phase: number of the phase, which every line then says; None where there is but one.
      count_flops: function from `StepWork` to floating-point operations, or None.
      peak: `PeakFlops` of all devices, or None.
      events: an `EventFiles`, or None.
      wall_clock: seconds since 1970.
    """

    def __init__(
        self,
        metrics_file,
        num_steps,
        examples_per_step,
        start_step=0,
        clock=time.monotonic,
        *,
        phase=None,
        count_flops=None,
        peak=None,
        events=None,
        wall_clock=time.time,
    ):
        self._metrics_file = Path(metrics_file) if metrics_file not in (None, os.devnull) else None
        self._num_steps = num_steps
        self._examples_per_step = examples_per_step
        self._clock = clock
        self._phase = phase
        self._count_flops = count_flops
        self._peak = peak
        self._events = events
        self._wall_clock = wall_clock
        self._last = (start_step, clock())
        self._seconds_per_step = None
        self._trained_seconds = self._paused_seconds = 0.0
        before = []
        if self._metrics_file and self._metrics_file.is_file():
            before = read_metrics(self._metrics_file)
        self._begin = clock() - max((line.get("elapsed_seconds", 0.0) for line in before), default=0.0)
        self._tokens_seen = max((line.get("tokens_seen", 0) for line in before), default=0)
        # A checkpoint within an interval holds its sums: the first ones of this process begin where they do.
        recorded = [line["step"] for line in before if line["split"] == "train"]
        self._sums_begin = max(recorded, default=0) if self._metrics_file else start_step

    def train(self, step: int, metrics: dict, learning_rate: float, work=None):
        """Records the means since the last call.

        Args:
          step: optimizer steps taken.
          metrics: name -> float.
          learning_rate: of the last step.
          work: `StepWork` of the steps since the last call, or None.

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
        seconds, steps = now - last_time, step - last_step
        rates = self._rates(steps, seconds, work, own_share=steps / max(step - self._sums_begin, 1))
        self._last, self._sums_begin = (step, now), step
        left = self._seconds_left(step, steps, seconds)
        self._append(step, "train", metrics | {"learning_rate": learning_rate} | rates)
        logging.info(
            "step %d/%d  %s  lr %.3g  %s  %s left",
            step, self._num_steps, _readable_metrics(metrics), learning_rate, _readable_rates(rates),
            readable_seconds(left),
        )  # fmt: skip

    def evaluate(self, step: int, metrics: dict, split: str = "eval"):
        """Records an evaluation; values may be nested lists (a confusion matrix)."""
        self._append(step, split, metrics)
        shown = _readable_metrics({k: v for k, v in metrics.items() if isinstance(v, float)})
        logging.info("step %d/%d  %s: %s", step, self._num_steps, split, shown)

    @contextlib.contextmanager
    def paused(self):
        """Leaves out of the rate what is not training: evaluations and checkpoints."""
        start = self._clock()
        yield
        pause = self._clock() - start
        step, last_time = self._last
        self._last = (step, last_time + pause)
        self._paused_seconds += pause

    def _rates(self, steps, seconds, work, own_share):
        """Rates of this process's steps, which are `own_share` of those that `work` counts."""
        examples = work.examples * own_share if work else steps * self._examples_per_step
        per_second = 1 / seconds if seconds else 0.0
        rates = {"examples_per_second": round(examples * per_second, 1)}
        if work is None:
            return rates
        self._tokens_seen += int(work.tokens)
        rates |= {
            "tokens_per_second": round(work.tokens * own_share * per_second, 1),
            "token_share": round(work.tokens / work.positions, 4),
            "tokens_seen": self._tokens_seen,
        }
        if self._count_flops:
            flops = self._count_flops(work) * own_share * per_second
            rates["flops_per_second"] = float(f"{flops:.4g}")
            if self._peak:
                rates["share_of_peak"] = round(flops / self._peak.flops_per_second, 4)
        return rates

    def _seconds_left(self, step, steps, seconds):
        # The first interval holds tracing and compilation, so it alone is no forecast.
        first = self._seconds_per_step is None
        per_step = seconds / max(steps, 1)
        self._seconds_per_step = per_step if first else 0.5 * (self._seconds_per_step + per_step)
        self._trained_seconds += seconds
        pauses = self._paused_seconds / self._trained_seconds if self._trained_seconds else 0.0
        return (self._num_steps - step) * self._seconds_per_step * (1 + pauses)

    def _append(self, step, split, values):
        line = {"step": step, "split": split}
        if self._phase is not None:
            line["phase"] = self._phase
        line |= values
        line["elapsed_seconds"] = round(self._clock() - self._begin, 1)
        line["time"] = round(self._wall_clock(), 3)
        if self._metrics_file:
            with open(self._metrics_file, "a", encoding="utf-8") as file:
                file.write(json.dumps(_finite(line), allow_nan=False) + "\n")
        if self._events:
            self._events.write(line)


def _finite(value):
    """The value with null in the place of what JSON cannot say: infinities and not-a-number."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _readable_metrics(metrics):
    return "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())


def _readable_rates(rates):
    """{"examples_per_second": 716.53, ...} -> "716.5 examples/s  91.2k tokens/s  41.3% of peak"."""
    shown = [f"{rates['examples_per_second']:.1f} examples/s"]
    if "tokens_per_second" in rates:
        shown.append(f"{readable_count(rates['tokens_per_second'])} tokens/s")
    if "share_of_peak" in rates:
        shown.append(f"{100 * rates['share_of_peak']:.1f}% of peak")
    return "  ".join(shown)


def readable_count(number: float) -> str:
    """950.4 -> "950", 91234 -> "91.2k", 3.1e9 -> "3.1G"."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= 0.99995 * size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


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
    write_text("".join(json.dumps(line) + "\n" for line in kept), metrics_file)
