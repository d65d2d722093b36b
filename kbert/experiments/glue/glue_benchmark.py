"""GLUE from a checkpoint: all trainings, the table, the submission. Each finished run is done once."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from absl import logging

from kbert.bounds import NO_FLAG
from kbert.checks import with_checked_arguments
from kbert.config import FinetuningConfig, load_config, require_not_overridden
from kbert.experiments.finetuning_data import LabelledPaths
from kbert.experiments.finished_run import FILE_NAME as RESULT
from kbert.experiments.glue.glue_files import GlueFiles, find_files
from kbert.experiments.glue.glue_summary import average, summarize_task
from kbert.experiments.glue.glue_tasks import GLUE_TASKS, glue_tasks
from kbert.experiments.glue.submission import require_columns_of_texts, write_submission
from kbert.experiments.seeds import require_no_settings, run_seeds, warn_of_replaced_results
from kbert.files.output_path import check_output_file, require_local
from kbert.files.whole_file import write_json
from kbert.reports.glue_report import write_page
from kbert.runs import checkpoint, run_directory
from kbert.runs.metrics_file import json_ready
from kbert.tasks.file_columns import check_file

SUMMARY, PAGE = "summary.json", "report.html"


@with_checked_arguments
def run_glue(
    glue_dir: str | Path,
    run_dir: str | Path,
    init_checkpoint: str | Path,
    tasks: Sequence[str] = (),
    learning_rates: Sequence[float] = (),
    seeds: Sequence[int] = (),
    config_dir: str | Path = "configs/finetuning",
    submission_dir: str | Path | None = None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
    overrides: Annotated[Sequence[str], NO_FLAG] = (),
    **devices,
) -> dict:
    """Trains every task with every learning rate and seed, in `run_dir/TASK/lr-RATE/seed-N`.

    The same call goes on where it was: finished runs are not trained again. summary.json and report.html are
    written anew after every task.

    Args:
      glue_dir: GLUE's files: a folder for each task, such as CoLA and SST-2.
      run_dir: folder for all runs, summary.json and report.html; what is there is resumed.
      init_checkpoint, do_lower_case, allow_unmatched: as for `finetune`.
      tasks: for example cola,sst2; by default all nine, and AX with `submission_dir`, which it needs.
      learning_rates: for example 5e-5,3e-5; by default that of the task's config.
      seeds: for example 1,2,3; by default the seed of the task's config.
      config_dir: folder of the configs: TASK.toml.
      submission_dir: write the files for GLUE's server there.
      overrides: changes of every task's config, as of --override.
      **devices: the fields of `Devices`.

    Returns:
      What summary.json holds: `tasks`, by `summarize_task`, and `average`.

    Raises:
      ValueError: before anything is trained, for unknown tasks and arguments, missing files or columns, and
        broken configs; else as `run_seeds` does.
    """
    require_no_settings(devices)
    require_local(run_dir)
    require_local(submission_dir)
    learning_rates, seeds = list(map(float, learning_rates)), list(seeds)  # names of folders
    for name, values, setting in (
        ("learning_rates", learning_rates, "optimizer.learning_rate"),
        ("seeds", seeds, "seed"),
    ):
        require_not_overridden(overrides if values else (), setting, name)
        if len(set(values)) < len(values):
            raise ValueError(
                f"--{name}={','.join(map(str, values))} names a value twice; name each value once."
            )
    if not all(0 < rate < math.inf for rate in learning_rates):
        raise ValueError(f"learning_rates={learning_rates}: expected numbers such as 5e-5,3e-5.")
    run_dir, chosen = Path(run_dir), glue_tasks(tasks)
    for task in chosen if tasks and not submission_dir else ():
        if task.model_of:
            raise ValueError(
                f"tasks: {task.name} has nothing but texts for a submission, answered by the model of "
                f"{task.model_of}; give submission_dir, or leave {task.name} out."
            )
    arguments = {
        "init_checkpoint": init_checkpoint,
        "do_lower_case": do_lower_case,
        "allow_unmatched": allow_unmatched,
        **devices,
    }
    configs = {
        task.name: _configs(Path(config_dir) / f"{task.name}.toml", overrides, learning_rates)
        for task in chosen
        if not task.model_of
    }
    files = find_files(glue_dir, chosen, run_dir, bool(submission_dir))
    _check_files(chosen, configs, files)
    if submission_dir:
        for name in itertools.chain(*(own.tests for own in files.values())):
            check_output_file(Path(submission_dir) / name, overwrite=True)
        _require_checkpoints(configs, seeds, run_dir)
    names = [_result_name(name, lr) for name, task_configs in configs.items() for lr in task_configs]
    warn_of_replaced_results(run_dir / SUMMARY, _result_names, names)
    by_task: dict[str, dict] = {}
    summary: dict = {}
    for name, task_configs in configs.items():
        by_task[name] = _train(GLUE_TASKS[name], task_configs, seeds, files[name], run_dir, arguments)
        summary = {"tasks": by_task, "average": average(by_task)}
        write_json(json_ready(summary), run_dir / SUMMARY)
        write_page(summary, run_dir / PAGE)
    if submission_dir:
        _submit(chosen, files, by_task, run_dir, Path(submission_dir))
    return summary


def _result_name(task, lr):
    return f"{task} at a learning rate of {lr:g}"


def _result_names(summary):
    return [
        _result_name(task, result["learning_rate"])
        for task, results in summary["tasks"].items()
        for result in results["by_learning_rate"]
    ]


def _configs(path, overrides, learning_rates) -> dict[float, FinetuningConfig]:
    """Learning rate -> the config of a task."""
    config = load_config(FinetuningConfig, path, overrides)
    rates = learning_rates or (config.optimizer.learning_rate,)
    optimizers = {lr: dataclasses.replace(config.optimizer, learning_rate=lr) for lr in rates}
    return {lr: dataclasses.replace(config, optimizer=optimizers[lr]) for lr in rates}


def _check_files(tasks, configs, files: dict[str, GlueFiles]):
    """Raises ValueError where a file of any task cannot be read as the task's config says."""
    for task in tasks:
        config, own = next(iter(configs[task.model_of or task.name].values())), files[task.name]
        if own.train_file:
            paths = LabelledPaths(own.train_file, own.dev_file, other_dev_files=own.other_dev_files)
            for path in paths.files:
                check_file(config.task, path, config.dataset)
        for source, index in own.tests.values():
            require_columns_of_texts(source, index, config.dataset)


def _require_checkpoints(configs, seeds, run_dir):
    """Raises ValueError where a finished run, which might answer a submission, has no checkpoint any more."""
    folders = [
        _run_folder(run_dir, name, lr) / f"seed-{seed}"
        for name, task_configs in configs.items()
        for lr, config in task_configs.items()
        for seed in seeds or (config.seed,)
    ]
    lacking = [
        str(folder)
        for folder in folders
        if (folder / RESULT).is_file() and not checkpoint.list_checkpoints(folder / "checkpoints")
    ]
    if lacking:
        raise ValueError(
            f"submission_dir: the checkpoints of {', '.join(lacking)} were deleted, and a submission is "
            "answered by the best run; delete these folders to train them again."
        )


def _train(task, configs, seeds, files, run_dir, arguments):
    summaries = {}
    for lr, config in configs.items():
        logging.info("GLUE: %s at a learning rate of %g", task.name, lr)
        summaries[lr] = run_seeds(
            config,
            _run_folder(run_dir, task.name, lr),
            seeds or (config.seed,),
            train_file=files.train_file,
            dev_file=files.dev_file,
            other_dev_files=files.other_dev_files,
            **arguments,
        )
    return summarize_task(task, summaries)


def _run_folder(run_dir, name, lr):
    return run_dir / name / f"lr-{lr!r}"


def _submit(tasks, files, by_task, run_dir, output_dir):
    """The best run of each task answers its test files."""
    output_dir.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        trained = task.model_of or task.name
        best = by_task[trained]["best_run"]
        run = run_directory.RunDirectory(
            _run_folder(run_dir, trained, best["learning_rate"]) / f"seed-{best['seed']}"
        )
        for name, (source, index) in files[task.name].tests.items():
            write_submission(task, run, source, index, output_dir / name)
    names = [submission.name for task in GLUE_TASKS.values() for submission in task.submissions]
    written = {name for task in tasks for name in files[task.name].tests}
    if earlier := [name for name in names if name not in written and (output_dir / name).is_file()]:
        logging.warning(
            "%s holds files of an earlier submission, whose models may be others: %s; delete them, or name "
            "their tasks too", output_dir, ", ".join(earlier),
        )  # fmt: skip
    if missing := [name for name in names if not (output_dir / name).is_file()]:
        logging.info("GLUE's server also wants %s, which is not in %s", ", ".join(missing), output_dir)
