"""GLUE from a checkpoint: all trainings, the table, the submission. Each finished run is done once."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from absl import logging

from kbert.config import FinetuningConfig, load_config
from kbert.experiments.finetuning_checks import require_columns_of_files
from kbert.experiments.glue.glue_files import GlueFiles, find_files
from kbert.experiments.glue.glue_summary import average, summarize_task
from kbert.experiments.glue.glue_tasks import GLUE_TASKS, glue_tasks
from kbert.experiments.glue.submission import require_columns_of_texts, write_submission
from kbert.experiments.labelled_paths import LabelledPaths
from kbert.experiments.seeds import run_seeds
from kbert.files.whole_file import write_json
from kbert.reports.glue_report import write_page
from kbert.runs.metrics_file import json_ready

SUMMARY, PAGE = "summary.json", "report.html"


@dataclass(frozen=True)
class GlueSettings:
    """What is trained.

    Args:
      tasks: names of tasks; none: all.
      learning_rates: each is tried; none: the one of the task's config.
      seeds: each gives a run; none: the one of the task's config.
      overrides: changes of every task's config, as of --override.
      config_dir: the folder of the configs, a file NAME.toml for each task.
    """

    tasks: tuple[str, ...] = ()
    learning_rates: tuple[float, ...] = ()
    seeds: tuple[int, ...] = ()
    overrides: tuple[str, ...] = ()
    config_dir: str | Path = "configs/finetuning"

    def __post_init__(self):
        for name in ("learning_rates", "seeds"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ValueError(
                    f"--{name}={','.join(map(str, values))} names a value twice; each gives runs."
                )

    def configs(self, name: str) -> dict[float, FinetuningConfig]:
        """Learning rate -> the config of a task."""
        config = load_config(FinetuningConfig, Path(self.config_dir) / f"{name}.toml", self.overrides)
        rates = self.learning_rates or (config.optimizer.learning_rate,)
        return {
            rate: dataclasses.replace(
                config, optimizer=dataclasses.replace(config.optimizer, learning_rate=rate)
            )
            for rate in rates
        }


@dataclass(frozen=True)
class GluePlaces:
    """Where things lie.

    Args:
      glue_dir: GLUE's files, a folder for each task.
      run_dir: a folder for all runs, summary.json and report.html.
      submission_dir: where the files for GLUE's server are written; None: they are not.
      start: further arguments of `run_finetuning`: `init_checkpoint`, devices.
    """

    glue_dir: str | Path
    run_dir: str | Path
    submission_dir: str | Path | None = None
    start: Mapping = field(default_factory=dict)


def run_glue(settings: GlueSettings, places: GluePlaces) -> dict:
    """Trains every task with every learning rate and seed, in `run_dir/TASK/lr-RATE/seed-N`.

    The same call goes on where it was: finished runs are not trained again. summary.json and report.html are
    written anew after every task.

    Returns:
      What summary.json holds: `tasks`, by `summarize_task`, and `average`.

    Raises:
      ValueError: before anything is trained, for unknown tasks, missing files or columns, and broken
        configs; else as `run_seeds` does.
    """
    tasks = glue_tasks(settings.tasks)
    configs = {task.name: settings.configs(task.name) for task in tasks if not task.model_of}
    files = find_files(places.glue_dir, tasks, places.run_dir, bool(places.submission_dir))
    _require_columns(tasks, configs, files)
    by_task: dict[str, dict] = {}
    summary: dict = {}
    for task in tasks:
        if task.model_of:
            continue
        by_task[task.name] = _train(task, configs[task.name], files[task.name], settings, places)
        summary = {"tasks": by_task, "average": average(by_task)}
        write_json(json_ready(summary), Path(places.run_dir) / SUMMARY)
        write_page(summary, Path(places.run_dir) / PAGE)
    if places.submission_dir:
        _submit(tasks, files, by_task, places)
    return summary


def _require_columns(tasks, configs, files: dict[str, GlueFiles]):
    """Raises ValueError where a file of any task lacks a column that the task's config names."""
    for task in tasks:
        config, own = next(iter(configs[task.model_of or task.name].values())), files[task.name]
        if own.train_file:
            paths = LabelledPaths(own.train_file, own.dev_file, other_dev_files=own.other_dev_files)
            require_columns_of_files(config, paths)
        for source, index in own.tests.values():
            require_columns_of_texts(source, index, config.dataset)


def _train(task, configs, files, settings, places):
    summaries = {}
    for rate, config in configs.items():
        logging.info("GLUE: %s at a learning rate of %g", task.name, rate)
        summaries[rate] = run_seeds(
            config,
            Path(places.run_dir) / task.name / rate_folder(rate),
            settings.seeds or (config.seed,),
            train_file=files.train_file,
            dev_file=files.dev_file,
            other_dev_files=files.other_dev_files,
            **places.start,
        )
    return summarize_task(task, summaries)


def rate_folder(rate: float) -> str:
    """The folder of a learning rate: 5e-5 -> "lr-5e-05"."""
    return f"lr-{rate!r}"


def _submit(tasks, files, by_task, places):
    """The best run of each task answers its test files."""
    from kbert.runs.run_directory import RunDirectory

    output_dir = Path(places.submission_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        trained = task.model_of or task.name
        best = by_task[trained]["best_run"]
        path = Path(places.run_dir) / trained / rate_folder(best["learning_rate"]) / f"seed-{best['seed']}"
        for name, (source, index) in files[task.name].tests.items():
            write_submission(task, RunDirectory(path), source, index, output_dir / name)
    names = [one.name for task in GLUE_TASKS.values() for one in task.submissions]
    if missing := [name for name in names if not (output_dir / name).is_file()]:
        logging.info("GLUE's server also wants %s, which is not in %s", ", ".join(missing), output_dir)
