"""What pretraining and fine-tuning do alike around a training: the run is opened, shown, and told about."""

import contextlib

from absl import logging

from kbert.files.json_values import shown
from kbert.input_pipelines.batches import Rows, first_rows
from kbert.input_pipelines.records.record_reader import naming_damaged_records
from kbert.reports.run_page import try_write_run_page
from kbert.training.devices.distribution import is_chief
from kbert.training.trainer import open_run

_OF_EVALUATIONS = ("best_metric", "eval_every_steps", "eval_every_epochs", "max_eval_steps")


@contextlib.contextmanager
def trained_run(strategy, run_dir, config, details: dict, vocabulary, sources):
    """The `RunDirectory` to train in, locked; when the block ends well, its page is written.

    Args:
      strategy, run_dir, config, details, vocabulary: as for `open_run`.
      sources: all data, see `naming_damaged_records`.
    """
    with (
        open_run(strategy, run_dir, config, details, vocabulary) as run,
        naming_damaged_records(*sources),
    ):
        yield run
    if is_chief(strategy):
        try_write_run_page(run.path)
    logging.info("the run is in %s", run.path)


def log_unread_settings(config, where: str):
    """Logs which settings of a training without data to evaluate on nothing reads.

    They are not refused: a config serves trainings with and without such data.

    Args:
      config: the config.
      where: how the data would be given.
    """
    default = type(config)()
    names = [name for name in _OF_EVALUATIONS if getattr(config, name, None) != getattr(default, name, None)]
    if names:
        values = ", ".join(f"{name}={shown(getattr(config, name))}" for name in names)
        logging.warning("nothing reads %s: there are no data to evaluate on (%s)", values, where)


def log_examples(task, rows: Rows, vocabulary):
    """Logs two decoded inputs with their answers, so that the user sees a wrong column or vocabulary."""
    batch = first_rows(rows, 2)
    for number in range(len(batch["input_ids"])):
        for line in task.describe({name: values[number] for name, values in batch.items()}, vocabulary):
            logging.info("%.100s", line)
