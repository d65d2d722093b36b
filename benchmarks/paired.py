r"""Compares the seeds of runs with those of a first run, for example of the encoder as it was.

  python -m benchmarks.paired runs/plain runs/continued runs/extended

Each is a --run_dir of `kbert finetune --seeds=1,2,3`. Prints mean and standard deviation, the mean of the
differences from the first run seed by seed, and the p-value of the paired t-test.
"""

import json
import sys
from pathlib import Path

import numpy as np
import scipy.stats

from benchmarks.report import markdown

_METRICS = ("accuracy", "matthews")


def main(folders: list[str]):
    scores = {folder: read_scores(Path(folder)) for folder in folders}
    rows = []
    for metric in _METRICS:
        first = scores[folders[0]][metric]
        for folder in folders:
            values = scores[folder][metric]
            row = [metric, folder, f"{values.mean():.3f} ± {values.std(ddof=1):.3f}", "", ""]
            if folder != folders[0]:
                test = scipy.stats.ttest_rel(values, first)
                row[3:] = f"{(values - first).mean():+.3f}", f"{test.pvalue:.2g}"
            rows.append(row)
    print(markdown(["metric", "run", "mean", "difference", "p"], rows))


def read_scores(folder: Path) -> dict[str, np.ndarray]:
    """metric -> the scores of the seeds, in the order of --seeds."""
    metrics = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["metrics"]
    return {metric: np.array(metrics[metric]["values"]) for metric in _METRICS}


if __name__ == "__main__":
    main(sys.argv[1:])
