"""metrics.jsonl: one line of JSON per log interval and per evaluation.

Training does not depend on this file. A line that cannot be written is kept and written with the next one.
Damaged lines are left out, with a warning.
"""

import json
import math
import os
import re
import shutil
from pathlib import Path

from absl import logging

from kbert.files.json_file import parse_json
from kbert.files.json_values import first_few
from kbert.files.whole_file import whole_file, write_text

# Fields that depend on the machine and the time. All other fields of metrics.jsonl are the same when a run is
# repeated, or killed and resumed.
CLOCK_FIELDS = (
    "examples_per_second",
    "tokens_per_second",
    "flops_per_second",
    "share_of_peak",
    "elapsed_seconds",
    "time",
)
# All fields that are no metrics of the task.
COURSE_FIELDS = (
    *CLOCK_FIELDS,
    *("step", "split", "phase", "tokens_seen", "token_share"),
    *("learning_rate", "gradient_norm", "loss_scale", "skipped_steps"),
)
# What an evaluation says of its probabilities, and the settings that would be better. What a model reaches
# with these, such as `best_f1`, is a score, by which the best checkpoint may be chosen.
_CALIBRATION = re.compile(r"(.*_)?(temperature|calibration_error|chosen_.*|best_.*_thresh)")


def is_calibration(name: str) -> bool:
    """Whether a metric is a temperature, a threshold or a calibration error: the terminal shows none of
    these."""
    return bool(_CALIBRATION.fullmatch(name))


class MetricsFile:
    """The file of a run that is being trained.

    Args:
      path: metrics.jsonl; it need not exist.
    """

    def __init__(self, path):
        self.path = Path(path)
        self._waiting = []

    def append(self, line: dict):
        """Adds a line; one that cannot be written now is kept, and written with the next.

        Infinity and NaN, which JSON does not have, become null.
        """
        self._waiting.append(json.dumps(json_ready(line), allow_nan=False) + "\n")
        self.write_waiting()

    def write_waiting(self):
        """Writes the lines that could not be written so far; logs a warning if that fails again."""
        if not self._waiting:
            return
        try:
            _append(self.path, "".join(self._waiting))
        except OSError as error:
            logging.warning(
                "METRICS NOT WRITTEN (%s): %d line(s) are kept and written to %s later; training goes on.",
                error.strerror or error, len(self._waiting), self.path,
            )  # fmt: skip
            return
        self._waiting.clear()

    def bring_to_disk(self):
        """fsync: the metrics are then as safe as the checkpoint."""
        self.write_waiting()
        if self.path.is_file():
            with self.path.open("rb") as file:
                os.fsync(file.fileno())

    def forget_after(self, step: int, with_evaluation: bool = False):
        """Drops the lines after `step`, which a resumed training will write again.

        Args:
          step: the last step that stays.
          with_evaluation: drop the evaluation at `step` itself as well.
        """
        if self.path.is_file():
            lines = read_metrics(self.path)
            self._write([line for line in lines if _is_kept(line, step, with_evaluation)])

    def restore(self, step: int, num_lines: int | None, best_metrics: tuple[int, dict] | None):
        """Cuts the file back to a checkpoint's step, and warns if lines before it are missing.

        Args:
          step: the step of the checkpoint.
          num_lines: the number of lines when the checkpoint was written, without an evaluation at that step;
            None if the checkpoint does not say.
          best_metrics: step and metrics of the best evaluation, whose line is written again if it is missing.
        """
        self.forget_after(step)
        kept = read_metrics(self.path) if self.path.is_file() else []
        gone = (num_lines or 0) - sum(_is_kept(line, step, True) for line in kept)
        if gone <= 0:
            return
        logging.warning(
            "%s: %d of the %d lines from before step %d are missing, so curves will show a gap. The training "
            "itself is not affected.", self.path, gone, num_lines, step,
        )  # fmt: skip
        if best_metrics and not any(_is_evaluation(line, best_metrics[0]) for line in kept):
            best = {"step": best_metrics[0], "split": "eval"} | best_metrics[1]
            before = [line for line in kept if line["step"] <= best["step"]]
            self._write([*before, best, *kept[len(before) :]])
            logging.info("the line of its best evaluation, at step %d, was written again", best["step"])

    def _write(self, lines):
        write_text("".join(json.dumps(json_ready(line), allow_nan=False) + "\n" for line in lines), self.path)


def read_metrics(path) -> list[dict]:
    """The lines of a metrics.jsonl, in order.

    A half-written last line, as a kill leaves it, is left out. Lines that hold no metrics are left out with
    a warning that names them.

    Raises:
      OSError: when the file cannot be read.
    """
    content = Path(path).read_bytes()
    lines, damaged = [], []
    for number, text in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            lines.append(_parse(text))
        except ValueError:
            damaged.append(number)
    if damaged:
        shown = first_few(damaged, 5)
        logging.warning("%s: %d damaged line(s) left out: %s", path, len(damaged), shown)
    return lines


def _parse(text):
    line = parse_json(text, "the line")
    if not isinstance(line, dict) or type(line.get("step")) is not int or type(line.get("split")) is not str:
        raise ValueError("the line holds no metrics")
    return line


def _is_kept(line, step, without_evaluation):
    return line["step"] < step or (line["step"] == step and not (without_evaluation and _is_evaluation(line)))


def _is_evaluation(line, step=None):
    return line["split"] == "eval" and step in (None, line["step"])


def _append(path, text):
    """Appends all of the text or nothing. A copy of the run that is made of hard links keeps its lines."""
    if path.is_file() and path.stat().st_nlink > 1:
        with whole_file(path) as aside:
            shutil.copyfile(path, aside)
    rest = text.encode("utf-8")
    # Without a buffer: closing one would try once more to write what is left, behind the cut.
    with open(path, "ab", buffering=0) as file:
        end = file.tell()
        try:
            while rest:  # a disk that is nearly full takes a part
                rest = rest[file.write(rest) :]
        except OSError:
            os.ftruncate(file.fileno(), end)
            raise


def recorded_metrics(values: dict) -> dict:
    """Metrics that were made `json_ready`, as they were: NaN, which one of infinity becomes too."""
    return {name: math.nan if value is None else value for name, value in values.items()}


def json_ready(value):
    """The value with None (JSON's null) in place of infinity and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {name: json_ready(item) for name, item in value.items()}
    if isinstance(value, list):
        return [json_ready(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
