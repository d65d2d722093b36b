"""The same fine-tuning with several seeds, and mean and deviation of their metrics."""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path

from absl import logging

from kbert.checks import with_checked_arguments
from kbert.config import Devices, FinetuningConfig
from kbert.experiments.finetuning import finetune
from kbert.experiments.finished_run import describe_run, finished_metrics, with_recorded_init, write_result
from kbert.files.json_file import read_json_object
from kbert.files.json_values import shown
from kbert.reports.seed_summary import FILE_NAME, summarize_seeds, write_summary
from kbert.runs.run_file import holds_run
from kbert.training.devices.cluster import is_multi_worker

_OTHERS = {*inspect.signature(finetune).parameters} - {"settings"}


@with_checked_arguments
def run_seeds(config: FinetuningConfig, run_dir, seeds, **arguments):
    """Fine-tunes once for each seed, in `run_dir/seed-N`. Runs that are finished are not trained again.

    Args:
      config: a `FinetuningConfig`; its own seed is not used.
      run_dir: a folder for the runs and, when all are done, summary.json.
      seeds: whole numbers, all different.
      arguments: as for `finetune`, with paths of files and without settings of the config; there must be data
        to evaluate on.

    Returns:
      The content of summary.json, see `summarize_seeds`.

    Raises:
      ValueError: when a seed is given twice, there are no data to evaluate on, `run_dir` holds a single run,
        or for a setting of the config; and as `finetune` does.
    """
    run_dir, seeds = Path(run_dir), list(seeds)
    require_no_settings(arguments, _OTHERS)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds={','.join(map(str, seeds))} names a seed twice; give each seed once.")
    if not (arguments.get("dev_file") or arguments.get("dev_dir") or config.dev_split):
        raise ValueError("several seeds need data to evaluate on: give dev_file, dev_dir or dev_split.")
    if is_multi_worker(arguments.get("strategy", "auto")):
        raise ValueError(
            "several seeds are trained in one process, but several workers (strategy=multi_worker, or a "
            "TF_CONFIG that names them) can train only one run; start one command for each seed."
        )
    if holds_run(run_dir):
        raise ValueError(f"run_dir={run_dir} holds a single run; choose a new folder for several seeds.")
    configs = [dataclasses.replace(config, seed=seed) for seed in seeds]  # checks every seed now
    warn_of_replaced_results(run_dir / FILE_NAME, lambda summary: summary["seeds"], seeds)
    metrics = {}
    for number, seeded in enumerate(configs, start=1):
        logging.info("seed %d, run %d of %d", seeded.seed, number, len(seeds))
        metrics[seeded.seed] = _run_once(seeded, run_dir / f"seed-{seeded.seed}", arguments)
    summary = summarize_seeds(metrics)
    write_summary(run_dir, summary)
    return summary


def warn_of_replaced_results(summary: Path, results: Callable[[dict], Iterable], names):
    """Warns where a summary that is there has results beside those of the names.

    Args:
      summary: the file.
      results: function from what such a file holds to the names of its results.
      names: those of the results to come.
    """
    earlier: list = []
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError):  # not kbert's
        earlier = [*results(read_json_object(summary))]
    if others := [str(name) for name in earlier if name not in names]:
        logging.warning(
            "%s has results of %s too, which it loses: name them as well; no finished run is trained again",
            summary, ", ".join(others),
        )  # fmt: skip


def require_no_settings(arguments: dict, others=frozenset()):
    """Raises ValueError for an argument that is no field of `Devices` and none of the others: as a setting it
    would change the config of each of several runs."""
    for name in set(Devices.taken_from(arguments)[1]) - others:
        raise ValueError(
            f"{name}={shown(arguments[name])} is no argument of several runs, which take settings from their "
            "config; change that, or leave it out."
        )


def _run_once(config, run_dir, arguments):
    """The metrics of a run, which is trained unless it is finished."""
    description = describe_run(config, arguments)
    finished = finished_metrics(run_dir, description)
    if finished is not None:
        logging.info("%s is finished.", run_dir)
        return finished
    recorded = with_recorded_init(run_dir, description)
    _, metrics = finetune(config, run_dir, **arguments)
    write_result(run_dir, recorded, metrics)
    return metrics
