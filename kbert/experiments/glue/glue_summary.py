"""What the trainings of GLUE came to. Standard library only."""

import statistics

from kbert.experiments.baselines import no_better_than_constant
from kbert.experiments.glue.glue_tasks import GLUE_TASKS, GlueTask


def summarize_task(task: GlueTask, summaries: dict[float, dict]) -> dict:
    """The best learning rate of a task by its first metric's mean on dev, and the best run of all.

    Args:
      task: a task that is trained.
      summaries: learning rate -> what `run_seeds` gives.

    Returns:
      JSON-ready: `metrics` and `learning_rate` of the best, `best_run` (learning rate, seed and metrics),
      `runs` and `failed_runs`, how many do no better than a constant answer, and `by_learning_rate`. Of
      equals, the first is the best.

    Raises:
      ValueError: when the runs do not give the metrics that GLUE reports.
    """
    for summary in summaries.values():
        if lacking := [name for name in task.metrics if name not in summary["metrics"]]:
            raise ValueError(
                f"{task.name}: its runs have no {', '.join(lacking)}, which GLUE reports; use a config "
                "of the task that GLUE expects."
            )
    first = task.metrics[0]
    by_lr = {
        lr: {name: summary["metrics"][name] for name in task.metrics} for lr, summary in summaries.items()
    }
    best_lr = max(by_lr, key=lambda lr: _comparable(by_lr[lr][first]["mean"]))
    runs = [
        (lr, seed, {name: values["values"][index] for name, values in summary["metrics"].items()})
        for lr, summary in summaries.items()
        for index, seed in enumerate(summary["seeds"])
    ]
    lr, seed, metrics = max(runs, key=lambda run: _comparable(run[2][first]))
    failed = [no_better_than_constant(run[2], lambda name: not name.endswith("loss")) for run in runs]
    return {
        "learning_rate": best_lr,
        "metrics": by_lr[best_lr],
        "best_run": {
            "learning_rate": lr,
            "seed": seed,
            "metrics": {name: metrics[name] for name in task.metrics},
        },
        "runs": len(runs),
        "failed_runs": sum(map(bool, failed)),
        "by_learning_rate": [{"learning_rate": lr, "metrics": values} for lr, values in by_lr.items()],
    }


def average(by_task: dict[str, dict]) -> dict:
    """The mean of the tasks' scores, a task's score being the mean of its metrics, as GLUE has it.

    Returns:
      {"tasks": names, "value": float}; WNLI is left out, as in the BERT paper. None where nothing is left.
    """
    names = [name for name in by_task if GLUE_TASKS[name].in_average]
    scores = [
        statistics.fmean(values["mean"] for values in by_task[name]["metrics"].values()) for name in names
    ]
    return {"tasks": names, "value": statistics.fmean(scores) if scores else None}


def _comparable(value):
    return value if value == value else float("-inf")  # not-a-number is below everything
