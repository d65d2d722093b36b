"""The best evaluation so far: which checkpoint it belongs to, and whether training should stop early."""

import contextlib
import math
from pathlib import Path
from typing import Any

from kbert.files.json_file import read_json_object
from kbert.files.whole_file import write_json
from kbert.runs.metrics_file import json_ready, recorded_metrics

INDEX_FILE = "best.json"


class BestCheckpoint:
    """Watches one metric from evaluation to evaluation.

    Args:
      metric: the metric's name.
      higher_is_better: whether a larger value is better.
      patience: after this many evaluations in a row without an improvement training should stop; None: never.

    Attributes:
      step: the step of the best evaluation, or None before there is one.
      metrics: its metrics.
    """

    def __init__(self, metric: str, higher_is_better: bool, patience: int | None = None):
        self.metric = metric
        self._sign = 1 if higher_is_better else -1
        self._patience = patience
        self.forget()

    def forget(self):
        """Forgets all evaluations."""
        self.step: int | None = None
        self.metrics: Any = None  # a dict once there is a best
        self._phase = self._observed_step = None
        self._fruitless = 0

    def require_metric(self, metrics: dict):
        """Raises ValueError when the metric is not among those of an evaluation."""
        if not isinstance(metrics.get(self.metric), float):
            names = sorted(name for name, value in metrics.items() if isinstance(value, float))
            raise ValueError(
                f"best_metric={self.metric!r} is not evaluated here; choose one of {', '.join(names)}, or "
                "give a run that is there the evaluation data that it began with."
            )

    def observe(self, step: int, metrics: dict, phase: int = 0) -> bool:
        """Records an evaluation. Returns whether it is the best so far; of equal ones the first is the best.

        The first evaluation of a phase counts as better than those of earlier phases, because numbers on
        other data cannot be compared. What is not a number is never the best. Observing the same step again,
        after a resume, changes nothing but the metrics of the best.

        Raises:
          ValueError: when the metric is not among the metrics.
        """
        self.require_metric(metrics)
        if step != self._observed_step or self._is_other:
            self._observed_step = step
            if self._is_better(metrics[self.metric], phase):
                self.step, self.metrics, self._phase, self._fruitless = step, metrics, phase, 0
            elif self.step is not None:  # before the first number there is nothing to improve
                self._fruitless += 1
        elif step == self.step:
            self.metrics = metrics  # the same, or of other data
        return step == self.step

    def observe_index(self, directory, step: int, phase: int):
        """Records the evaluation of `step` that `directory/best.json` tells, if it does.

        A checkpoint is written before its evaluation, so its state lacks that one.
        """
        with contextlib.suppress(ValueError):  # a broken file is written anew
            index = read_index(directory)
            if index and index["step"] == step:
                metrics = recorded_metrics(index.get("metrics", {}))
                if self.metric in metrics:
                    self.observe(step, metrics, phase)
                elif metrics:  # of other data, see `_is_other`
                    self.step, self.metrics, self._phase, self._fruitless = step, metrics, phase, 0

    def _is_better(self, value, phase):
        if not math.isfinite(value) or self.step is None or phase != self._phase or self._is_other:
            return math.isfinite(value)
        return self._sign * value > self._sign * self.metrics[self.metric]

    @property
    def _is_other(self) -> bool:
        """Whether the best was found on data that give other metrics, as records of questions do: it stays
        until there is an evaluation on the data of now."""
        return self.metrics is not None and self.metric not in self.metrics

    def without_checkpoint(self, before: dict):
        """Goes back to `before`, the result of `state()` before the newest evaluation.

        This is for a best evaluation whose checkpoint could not be kept. It was an improvement nevertheless,
        so the count for `patience` starts again.
        """
        observed_step = self._observed_step
        self.restore(before)
        self._observed_step, self._fruitless = observed_step, 0

    def recorded(self) -> tuple[int, dict] | None:
        """Step and metrics of the best evaluation, or None before there is one."""
        return None if self.step is None else (self.step, self.metrics)

    @property
    def patience_is_spent(self) -> bool:
        """Whether there were `patience` evaluations in a row without an improvement of a number."""
        return self._patience is not None and self.step is not None and self._fruitless >= self._patience

    def why_none(self, metrics: dict) -> str:
        """What an evaluation without any number to go by means; "" where there is one, now or before.

        Args:
          metrics: of the evaluation.
        """
        if self.step is not None or math.isfinite(metrics[self.metric]):
            return ""
        others = [
            name for name, value in metrics.items() if isinstance(value, float) and math.isfinite(value)
        ]
        early = "; training will not stop early" if self._patience else ""
        return (
            f"{self.metric} is not a number on the evaluation data, so no checkpoint is the best by "
            f"it{early}. If that stays so, the last checkpoint answers. Take other data, or for best_metric "
            f"one of {', '.join(sorted(others))}."
        )

    def state(self) -> dict:
        """The state as JSON-ready values, for `restore`."""
        return {
            "step": self.step,
            "metrics": json_ready(self.metrics),
            "phase": self._phase,
            "observed_step": self._observed_step,
            "fruitless": self._fruitless,
        }

    def restore(self, state: dict):
        """Goes back to a state that `state()` returned."""
        self.step = state["step"]
        self.metrics = state["metrics"] and recorded_metrics(state["metrics"])
        self._phase, self._observed_step = state["phase"], state["observed_step"]
        self._fruitless = state["fruitless"]

    def write_index(self, directory):
        """Writes `directory/best.json`, or deletes it where there is no best yet."""
        path = Path(directory) / INDEX_FILE
        if self.step is None:
            path.unlink(missing_ok=True)
            return
        if self._is_other:  # as the file says already
            return
        values = {"step": self.step, "metric": self.metric, "value": self.metrics[self.metric]}
        write_json(values | {"metrics": json_ready(self.metrics)}, path)


def read_index(directory) -> dict | None:
    """The content of `directory/best.json`: step, metric, value, metrics; None when there is none.

    Raises:
      ValueError: when it is broken.
    """
    path = Path(directory) / INDEX_FILE
    if not path.is_file():
        return None
    try:
        values = read_json_object(path)
        values["step"], values["metric"], values["value"]
    except (ValueError, KeyError):
        raise ValueError(
            f"{path} is broken; delete it, and name a checkpoint by checkpoint=last or its step."
        ) from None
    return values


def indexed_step(directory) -> int | None:
    """The step that `directory/best.json` names; None if there is no file or it is broken."""
    try:
        index = read_index(directory)
    except ValueError:
        return None
    return index["step"] if index else None
