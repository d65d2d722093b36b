"""The files of a run -> the series of numbers that pictures and pages show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from kbert.files.json_file import read_json_object
from kbert.runs.metrics_file import COURSE_FIELDS, read_metrics
from kbert.tasks import TASKS, task

READ_FILES = ("metrics.jsonl", "config.json", "run.json")
_OFFICIAL = ("f1", "exact_match", "exact")  # the scores of questions
_SHARES = ("accuracy", *_OFFICIAL)


@dataclass(frozen=True)
class RunMetrics:
    """The metrics and settings of one run.

    Args:
      name: the name to show.
      lines: the lines of metrics.jsonl.
      config: the content of config.json, or {} if there is none.
      details: the content of run.json, or {} if there is none.
    """

    name: str
    lines: list
    config: dict = field(default_factory=dict)
    details: dict = field(default_factory=dict)

    @classmethod
    def read(cls, folder: str | Path, name: str) -> "RunMetrics":
        """Reads the folder of a run, which may still be training.

        Raises:
          ValueError: when it holds no metrics yet, or a broken file; the message names the folder or file.
        """
        metrics_file, config_file, details_file = (Path(folder) / name for name in READ_FILES)
        if not metrics_file.is_file():
            raise ValueError(f"{folder} holds no metrics.jsonl; give the folder of a run.")
        lines = read_metrics(metrics_file)
        if not lines:
            raise ValueError(f"{metrics_file} holds no metrics yet; wait for the end of a log interval.")
        return cls(name, lines, _object_if_there(config_file), _object_if_there(details_file))

    @classmethod
    def read_all(cls, runs: Mapping[str, str | Path]) -> "list[RunMetrics]":
        """Reads several runs: the name to show -> the folder; see `read`."""
        if not runs:
            raise ValueError("there is no run to draw; give at least one run folder.")
        return [cls.read(folder, name) for name, folder in runs.items()]

    @property
    def task(self):
        """The class of the run's task; `Task` for one of somebody's own program, which is not known here."""
        name = self.details.get("task", "")
        return TASKS[name] if name in TASKS else task.Task

    def losses(self) -> list[str]:
        """The names of the losses, in the order in which the run wrote them."""
        return self._names(is_loss)

    def scores(self) -> list[str]:
        """The names of the other metrics that say how good the model is, in the same order."""
        is_score = self.task.is_score
        return self._names(lambda name: is_score(name) and not is_loss(name) and name not in COURSE_FIELDS)

    def _names(self, is_wanted):
        fields = (field for line in self.lines for field in line.items())
        return list(dict.fromkeys(name for name, value in fields if type(value) is float and is_wanted(name)))

    def training(self, name: str) -> tuple[list, list]:
        """(steps, values) of a metric, means over the log intervals."""
        return self._series(name, is_training=True)

    def evaluations(self, name: str) -> tuple[list, list]:
        """(steps, values) of a metric on held-out data. Shares are from 0 to 1: scores of questions, which
        the official script gives in percent, are divided by 100."""
        steps, values = self._series(name, is_training=False)
        if name.endswith(self._percent_scores):
            values = [value / 100.0 for value in values]
        return steps, values

    @property
    def _percent_scores(self):
        """Those of the task. In a folder of metrics alone, an exact match tells of questions:
        no other task has one."""
        is_unknown = "task" not in self.details
        has_matches = is_unknown and self._names(lambda name: name.endswith("exact_match"))
        return _OFFICIAL if has_matches else self.task.percent_scores

    def last(self, name: str):
        """The newest value of a field in any line, or None."""
        return next((line[name] for line in reversed(self.lines) if line.get(name) is not None), None)

    def phases(self) -> list[tuple[int, str]]:
        """(last step before the phase, name) of every phase except the first; [] if lines name no phases."""
        lines = [line for line in self.lines if line["split"] == "train" and "phase" in line]
        return [
            (before["step"], f"phase {line['phase']}")
            for before, line in pairwise(lines)
            if before["phase"] != line["phase"]
        ]

    def _series(self, name, is_training):
        chosen = {
            line["step"]: line[name]
            for line in self.lines
            if line.get(name) is not None and (line["split"] == "train") == is_training
        }
        return list(chosen), list(chosen.values())


def is_loss(name: str) -> bool:
    return name.endswith("loss")


def is_share(name: str) -> bool:
    """Whether a score is for people a percentage, such as accuracy; a correlation is none."""
    return name.endswith(_SHARES)


def score_text(value: float | None) -> str:
    """A score for people; None is one that is undefined, such as a correlation with a constant."""
    return "undefined" if value is None else f"{value:.4f}"


def words(name: str) -> str:
    """The name of a metric as words: masked_lm_accuracy -> "masked LM accuracy"."""
    return name.replace("_", " ").replace(" lm ", " LM ").replace("f1", "F1")


def _object_if_there(path):
    return read_json_object(path) if path.is_file() else {}
