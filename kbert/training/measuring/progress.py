"""Reports the progress of a run: one log line for each interval, and metrics.jsonl."""

import contextlib
import math
import time

from absl import logging
from tqdm import tqdm

from kbert.cli.progress import PROGRESS
from kbert.runs.metrics_file import MetricsFile, is_calibration, read_metrics
from kbert.training.measuring.event_files import EventFiles, tensorboard_is_installed
from kbert.training.measuring.peak_flops import find_peak_flops
from kbert.training.measuring.step_work import StepWork, training_flops
from kbert.training.measuring.time_left import TimeLeft


class TrainingProgress:
    """Writes metrics to metrics.jsonl and a readable line to the log.

    A line of metrics.jsonl is one JSON object: `step` (the optimizer steps taken), `split` ("train" or that
    of an evaluation), the metrics, and

      learning_rate        of the last step;
      examples_per_second, tokens_per_second   of the interval; padding does not count as tokens;
      token_share          real tokens divided by all positions of the batches; the rest is padding;
      tokens_seen          real tokens of the run so far, from `work`;
      flops_per_second     useful arithmetic, see `training_flops`;
      share_of_peak        flops_per_second divided by the peak of all devices; left out above 1, where
                           other work on the machine made the measured peak too low;
      elapsed_seconds      of the run so far, with evaluations and checkpoints, without the time between
                           a stop and the next start;
      time                 seconds since 1970.

    Rates do not count the time of evaluations and checkpoints. The time left does, see `TimeLeft`.

    Args:
      metrics_file: the `MetricsFile` to write to, or None: workers other than the chief write nothing.
      num_steps: steps of the whole run.
      start_step: the step at which this process or phase begins.
      before: the result of `state` at `start_step`, from an earlier process or phase, or None.
      clock: function that returns the time in seconds; an argument so that tests can set it.
      phase: the number of the phase, which is then written to every line; None when there is only one phase.
      count_flops: function from `StepWork` to floating-point operations, or None.
      peak: `PeakFlops` of all devices, or None.
      events: an `EventFiles`, or None.
      wall_clock: function that returns the seconds since 1970.
      ends_by_time: whether a time budget ends the training: lines for people then do not say `num_steps`.
    """

    def __init__(
        self,
        metrics_file,
        num_steps,
        start_step=0,
        clock=time.monotonic,
        *,
        before=None,
        phase=None,
        count_flops=None,
        peak=None,
        events=None,
        wall_clock=time.time,
        ends_by_time=False,
    ):
        self._metrics_file = metrics_file
        self._num_steps = num_steps
        self._clock = clock
        self._phase = phase
        self._count_flops = count_flops
        self._peak = peak
        self._events = events
        self._wall_clock = wall_clock
        self._of_all = "" if ends_by_time else f"/{num_steps}"
        self._last = (start_step, clock())
        self._call_began = self._last[1]
        self._time_left = TimeLeft(num_steps, start_step)
        before = before or {}
        self._began = clock() - before.get("elapsed_seconds", 0.0)
        self._tokens_seen = before.get("tokens_seen", 0)
        self._num_lines, self._evaluated_step = before.get("num_lines", 0), None
        # A checkpoint in the middle of an interval holds its sums so far. The first sums of this process
        # therefore begin where that interval began.
        self._interval_begin = before.get("interval_begin", start_step)

    def steps_done(self, step: int):
        """Notes that a call of the step ended: the time left is estimated from these."""
        self._note_steps(step)
        first = self._time_left.first_estimate() if self._of_all else None
        if first:
            seconds, rate = first
            logging.info(
                "about %s for the other %s steps at %.3g steps/s, without evaluations and checkpoints",
                tqdm.format_interval(seconds), f"{self._num_steps - step:,}", rate,
            )  # fmt: skip

    def _note_steps(self, step):
        now = self._clock()
        self._time_left.steps_done(step, now - self._call_began)
        self._call_began = now

    def train(
        self, step: int, metrics: dict, learning_rate: float, work: StepWork, budget: float | None = None
    ):
        """Records the means since the last call.

        Args:
          step: optimizer steps taken.
          metrics: name -> float.
          learning_rate: of the last step.
          work: that of the steps since the last call.
          budget: the seconds after which training ends whatever its step, or None.

        Raises:
          FloatingPointError: when a value is not finite; the message names the steps it came from.
        """
        last_step, last_time = self._last
        broken = [name for name, value in metrics.items() if not math.isfinite(value)]
        if broken:
            raise FloatingPointError(
                f"{', '.join(broken)} became non-finite between steps {last_step + 1} and {step}: lower "
                "optimizer.learning_rate, lengthen the warm-up, or use precision=float32."
            )
        now = self._clock()
        rates = self._rates(work, (step - last_step) / max(step - self._interval_begin, 1), now - last_time)
        self._last, self._interval_begin = (step, now), step
        self._note_steps(step)
        self._time_left.interval_done()
        self._append(step, "train", metrics | {"learning_rate": learning_rate} | rates)
        logging.info(
            "step %d%s  %s%s  %s  learning_rate %.3g", step, self._of_all,
            self._readable_time_left(step, budget), _readable_rates(rates), _readable_metrics(metrics),
            learning_rate, extra=PROGRESS if step < self._num_steps else None,
        )  # fmt: skip

    def evaluate(self, step: int, metrics: dict):
        """Records an evaluation; values may be nested lists (a confusion matrix)."""
        self._append(step, "eval", metrics)
        self._evaluated_step = step
        scores = {k: v for k, v in metrics.items() if isinstance(v, float) and not is_calibration(k)}
        shown = _readable_metrics(scores)
        logging.info("step %d%s  evaluation: %s", step, self._of_all, shown)

    def state(self, step: int) -> dict:
        """The state at `step`, ready for JSON, for a later `TrainingProgress` that continues from there.

        `num_lines` counts the lines of metrics.jsonl, without an evaluation at this same step, because a
        resumed run makes that evaluation again. `interval_begin` is the step of the last training line.
        """
        return {
            "tokens_seen": self._tokens_seen,
            "num_lines": self._num_lines - (self._evaluated_step == step),
            "interval_begin": self._interval_begin,
            "elapsed_seconds": round(self._clock() - self._began, 3),
        }

    @contextlib.contextmanager
    def paused(self, what: str, every: float):
        """The time inside this context is not counted in the rates: for evaluations and checkpoints.

        Args:
          what: "evaluation" or "checkpoint".
          every: the steps from one such pause to the next; there is one at the end of the run as well.
        """
        start = self._clock()
        yield
        pause = self._clock() - start
        step, last_time = self._last
        self._last = (step, last_time + pause)
        self._call_began += pause
        self._time_left.paused(what, every, pause)

    def _rates(self, work, own_share, seconds):
        """Rates of the steps of this process, which are `own_share` of the steps that `work` counts."""
        share_per_second = own_share / seconds if seconds else 0.0
        self._tokens_seen += int(work.tokens)
        rates = {
            "examples_per_second": float(f"{work.examples * share_per_second:.4g}"),
            "tokens_per_second": round(work.tokens * share_per_second, 1),
            "token_share": round(work.tokens / work.positions, 4),
            "tokens_seen": self._tokens_seen,
        }
        if self._count_flops:
            flops = self._count_flops(work) * share_per_second
            rates["flops_per_second"] = float(f"{flops:.4g}")
            if self._peak and flops <= self._peak.flops_per_second:
                rates["share_of_peak"] = round(flops / self._peak.flops_per_second, 4)
        return rates

    def _readable_time_left(self, step, budget):
        ends = [seconds for seconds in (self._time_left.seconds(step), budget) if seconds is not None]
        has_ended = step >= self._num_steps or budget == 0
        return f"{tqdm.format_interval(min(ends))} left  " if ends and not has_ended else ""

    def _append(self, step, split, values):
        line = {"step": step, "split": split}
        if self._phase is not None:
            line["phase"] = self._phase
        line |= values
        line["elapsed_seconds"] = round(self._clock() - self._began, 1)
        line["time"] = round(self._wall_clock(), 3)
        self._num_lines += 1
        if self._metrics_file:
            self._metrics_file.append(line)
        if self._events:
            self._events.write(line)


def make_progress(
    config, plan, number: int, run, strategy, metrics_file: MetricsFile | None, step: int, before=None
) -> TrainingProgress:
    """The `TrainingProgress` of a phase.

    Args:
      config, plan, run, strategy: those of the training.
      number: the index of the phase in `plan.phases`.
      metrics_file: the run's, or None if another process writes metrics and event files.
      step: the step at which it begins.
      before: see `TrainingProgress`.
    """
    events = None
    if metrics_file and tensorboard_is_installed():
        lines = read_metrics(metrics_file.path) if metrics_file.path.is_file() else ()
        events = EventFiles(run.path / "events", lines)
    peak = find_peak_flops(strategy, config.precision, config.peak_flops)
    if peak and step == plan.phases[number].first_step:
        logging.info("peak: %.3g TFLOP/s, %s", peak.flops_per_second / 1e12, peak.source)
    # Frozen weights have fewer products than the formula of a whole training counts.
    is_whole = config.trains_whole_encoder
    return TrainingProgress(
        metrics_file,
        plan.num_train_steps,
        step,
        before=before,
        phase=number + 1 if len(plan.phases) > 1 else None,
        count_flops=(lambda work: training_flops(config.encoder, work)) if is_whole else None,
        peak=peak,
        events=events,
        ends_by_time=config.optimizer.decay == "budget",
    )


def _readable_metrics(metrics):
    return "  ".join(f"{name} {value:.4g}" for name, value in metrics.items())


def _readable_rates(rates):
    """{"examples_per_second": 716.53, ...} -> "716.5 examples/s  91.2k tokens/s  41.3% of peak"."""
    shown = [
        f"{rates['examples_per_second']:,} examples/s",
        f"{tqdm.format_sizeof(rates['tokens_per_second'])} tokens/s",
    ]
    if "share_of_peak" in rates:
        shown.append(f"{100 * rates['share_of_peak']:.1f}% of peak")
    return "  ".join(shown)
