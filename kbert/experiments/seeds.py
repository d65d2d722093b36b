"""The same fine-tuning with several seeds, and what their metrics have in common."""

import dataclasses
from pathlib import Path

from absl import logging

from kbert.config import FinetuningConfig
from kbert.experiments.finetuning import run_finetuning
from kbert.experiments.finished_run import asked_for, finished_metrics, write_result
from kbert.reporting.seed_summary import summarize_seeds, write_summary


def run_seeds(config: FinetuningConfig, run_dir, seeds, **arguments):
    """Fine-tunes once for each seed, in `run_dir/seed-N`; finished ones are not trained again.

    Args:
      config: as of `run_finetuning`; its own seed is not used.
      run_dir: a folder for the runs and, when all are done, summary.json.
      seeds: whole numbers, each once.
      arguments: as of `run_finetuning`; there must be data to evaluate on.

    Returns:
      What summary.json holds, see `summarize_seeds`.

    Raises:
      ValueError: as `run_finetuning` does.
    """
    run_dir, seeds = Path(run_dir), list(seeds)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"--seeds={','.join(map(str, seeds))} names a seed twice; each gives one run.")
    if not (arguments.get("dev_file") or arguments.get("dev_dir")):
        raise ValueError("--seeds compares metrics: give --dev_file or --dev_dir.")
    if arguments.get("strategy") == "multi_worker":
        raise ValueError(
            "--seeds trains one run after the other, but --strategy=multi_worker only one a process."
        )
    if (run_dir / "run.json").is_file():
        raise ValueError(f"--run_dir={run_dir} holds a single run; choose a new folder for several seeds.")
    configs = [dataclasses.replace(config, seed=seed) for seed in seeds]  # refuses impossible ones at once
    metrics = {}
    for number, seeded in enumerate(configs, start=1):
        logging.info("seed %d, run %d of %d", seeded.seed, number, len(seeds))
        metrics[seeded.seed] = _run_once(seeded, run_dir / f"seed-{seeded.seed}", arguments)
    summary = summarize_seeds(metrics)
    write_summary(run_dir, summary)
    return summary


def _run_once(config, run_dir, arguments):
    """The metrics of a run, which is trained unless it is finished."""
    asked = asked_for(config, arguments)
    metrics = finished_metrics(run_dir, asked)
    if metrics is not None:
        logging.info("%s is finished.", run_dir)
        return metrics
    _, metrics = run_finetuning(config, run_dir, **arguments)
    write_result(run_dir, asked, metrics)
    return metrics
