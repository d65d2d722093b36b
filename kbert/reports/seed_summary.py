"""Summarizes several runs that differ only in their seed. Standard library only."""

import math
import statistics
from pathlib import Path

from kbert.cli.flags import WIDTH
from kbert.files.whole_file import write_json
from kbert.reports.text_table import text_table
from kbert.runs.metrics_file import is_calibration, json_ready

FILE_NAME = "summary.json"


def summarize_seeds(metrics_by_seed: dict[int, dict]) -> dict:
    """Mean and deviation of every metric that is a float.

    Args:
      metrics_by_seed: seed -> metrics of its run.

    Returns:
      {"seeds": [...], "metrics": {name: {"mean", "deviation", "values"}}}. The deviation is the sample
      standard deviation, sqrt(sum (x - mean)^2 / (n - 1)), and None for a single seed. What a run does not
      give, such as a temperature of logits that are not finite, is NaN.
    """
    runs = list(metrics_by_seed.values())
    names = [name for run in runs for name, value in run.items() if isinstance(value, float)]
    metrics = {}
    for name in dict.fromkeys(names):
        values = [run.get(name, math.nan) for run in runs]
        metrics[name] = {"mean": statistics.fmean(values), "deviation": _deviation(values), "values": values}
    return {"seeds": list(metrics_by_seed), "metrics": metrics}


def _deviation(values):
    if len(values) < 2:
        return None
    # A correlation of constant scores is no number, which `stdev` does not take.
    return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan


def seed_table(summary: dict) -> str:
    """A text table: a row for each seed, then mean and deviation; a column for each metric.

    Where that is wider than a line, metrics are rows and seeds are columns; where there are many of both,
    the seeds are left out.
    """
    rows = _seed_rows(summary)
    across = [list(column) for column in zip(*rows, strict=True)]
    only_means = [[row[0], *row[1 + len(summary["seeds"]) :]] for row in across]
    tables = (text_table(rows, num_text_columns=0), text_table(across), text_table(only_means))
    return next((table for table in tables if max(map(len, table.splitlines())) <= WIDTH), tables[-1])


def _seed_rows(summary):
    metrics = {k: column for k, column in summary["metrics"].items() if not is_calibration(k)}
    columns = metrics.values()
    rows = dict(
        zip(summary["seeds"], zip(*(column["values"] for column in columns), strict=True), strict=True)
    )
    rows["mean"] = [column["mean"] for column in columns]
    if len(summary["seeds"]) > 1:
        rows["deviation"] = [column["deviation"] for column in columns]
    shown = [[str(name), *map("{:.4f}".format, values)] for name, values in rows.items()]
    return [["seed", *metrics], *shown]


def write_summary(folder, summary: dict):
    """Writes `folder/summary.json`."""
    write_json(json_ready(summary), Path(folder) / FILE_NAME)
