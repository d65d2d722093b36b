r"""Compares the seeds of runs with those of a first run, for example of the encoder as it was.

  python -m benchmarks.paired --run_dirs=runs/plain,runs/continued,runs/extended

Each is a --run_dir of `kbert finetune --seeds=1,2,3`. Prints mean and standard deviation, the mean of the
differences from the first run seed by seed, and the p-value of the paired t-test.
"""

import json
from pathlib import Path

import numpy as np
import scipy.stats
from absl import flags

from benchmarks.report import markdown
from kbert.cli import script

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_list("run_dirs", None, "The runs; the first is what the others are compared with.")
    flags.DEFINE_list("metrics", ["accuracy"], "What to compare, by the names in summary.json.")
    flags.mark_flags_as_required(["run_dirs"])


def main():
    scores = read_scores(FLAGS.run_dirs, FLAGS.metrics)
    rows = []
    for metric in FLAGS.metrics:
        first = scores[FLAGS.run_dirs[0]][metric]
        for folder in FLAGS.run_dirs:
            values = scores[folder][metric]
            row = [metric, folder, f"{values.mean():.3f} ± {values.std(ddof=1):.3f}", "", ""]
            if values is not first:
                test = scipy.stats.ttest_rel(values, first)
                row[3:] = f"{(values - first).mean():+.3f}", f"{test.pvalue:.2g}"
            rows.append(row)
    print(markdown(["metric", "run", "mean", "difference", "p"], rows))


def read_scores(folders: list[str], names: list[str]) -> dict[str, dict[str, np.ndarray]]:
    """folder -> metric -> the scores of the seeds, in the order of the first folder's.

    Raises:
      ValueError: for a folder without one of the metrics, or of other seeds than the first.
    """
    summaries = {folder: json.loads(Path(folder, "summary.json").read_text("utf-8")) for folder in folders}
    seeds, scores = summaries[folders[0]]["seeds"], {}
    for folder, summary in summaries.items():
        metrics, own = summary["metrics"], summary["seeds"]
        if sorted(own) != sorted(seeds):
            raise ValueError(f"{folder} has the seeds {own}; expected those of {folders[0]}, {seeds}.")
        for metric in names:
            if metric not in metrics:
                raise ValueError(f"{folder} has no metric {metric!r}; expected some of {', '.join(metrics)}.")
        order = [own.index(seed) for seed in seeds]
        scores[folder] = {name: np.array(metrics[name]["values"])[order] for name in names}
    return scores


if __name__ == "__main__":
    define_flags()
    script.run(main)
