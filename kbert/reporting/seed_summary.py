"""Summarizes several runs that differ only in their seed. Standard library only."""

import statistics
from pathlib import Path

from kbert.files.whole_file import write_json

FILE_NAME = "summary.json"


def summarize_seeds(metrics_by_seed: dict[int, dict]) -> dict:
    """Mean and deviation of every metric that is a float.

    Args:
      metrics_by_seed: seed -> metrics of its run.

    Returns:
      {"seeds": [...], "metrics": {name: {"mean", "deviation", "values"}}}. The deviation is the sample
      standard deviation, sqrt(sum (x - mean)^2 / (n - 1)), and None for a single seed.
    """
    runs = list(metrics_by_seed.values())
    names = [name for name, value in runs[0].items() if isinstance(value, float)]
    metrics = {}
    for name in names:
        values = [run[name] for run in runs]
        deviation = statistics.stdev(values) if len(values) > 1 else None
        metrics[name] = {"mean": statistics.fmean(values), "deviation": deviation, "values": values}
    return {"seeds": list(metrics_by_seed), "metrics": metrics}


def seed_table(summary: dict) -> str:
    """A text table: a row for each seed, then mean and deviation; a column for each metric."""
    names = list(summary["metrics"])
    columns = [summary["metrics"][name] for name in names]
    rows = [["seed", *names]]
    for place, seed in enumerate(summary["seeds"]):
        rows.append([str(seed), *(f"{column['values'][place]:.4f}" for column in columns)])
    rows.append(["mean", *(f"{column['mean']:.4f}" for column in columns)])
    if len(summary["seeds"]) > 1:
        rows.append(["deviation", *(f"{column['deviation']:.4f}" for column in columns)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.rjust, row, widths)) for row in rows)


def write_summary(folder, summary: dict):
    """Writes `folder/summary.json`."""
    write_json(summary, Path(folder) / FILE_NAME)
