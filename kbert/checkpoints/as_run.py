"""`open_as_run`: any checkpoint as a run directory, for a script that needs one."""

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path

from absl import logging

from kbert.checkpoints import KBERT
from kbert.checkpoints.bert_checkpoint import BertCheckpoint, RecordedTask
from kbert.checkpoints.formats import local_path, read_checkpoint
from kbert.checkpoints.kbert_run import write_kbert_run
from kbert.checkpoints.report import Report
from kbert.config import FinetuningConfig
from kbert.runs.run_file import holds_run
from kbert.tasks import TASKS
from kbert.tasks.file_columns import holds_pairs, require_read


@contextlib.contextmanager
def open_as_run(
    path,
    do_lower_case: bool | None = None,
    config: FinetuningConfig | None = None,
    run_only: str = "",
    allow_unmatched=(),
    eval_file=None,
) -> Iterator:
    """Gives the `RunDirectory` at `path`, or one that is made of a checkpoint and removed afterwards.

    Args:
      path: a run directory, or any checkpoint or name that `read_checkpoint` reads.
      do_lower_case: the casing, if a checkpoint does not record it; not for a run.
      config: a config of a checkpoint's task: the columns of labelled files, `task_settings` and
        `max_seq_length`; see `with_config`. Not for a run, which records them.
      run_only: the flag that makes sense for a run alone; it is refused for a checkpoint, with the command
        that makes a run of it. Empty if there is none.
      allow_unmatched: for a checkpoint of others, as for `read_checkpoint`.
      eval_file: the labelled file that it is evaluated on: without a config, a checkpoint that does not say
        whether it takes pairs takes those of a file that `holds_pairs`.

    Raises:
      ValueError: when there is no model, or an argument does not go with it.
    """
    from kbert.runs.run_directory import RunDirectory

    folder = local_path(path)
    if holds_run(folder):
        settings = {"config": config, "do_lower_case": do_lower_case}
        for flag in (flag for flag, value in settings.items() if value is not None):
            raise ValueError(
                f"{flag} is for checkpoints of other libraries; the run {path} records it. Leave it out."
            )
        yield RunDirectory(folder)
        return
    if run_only:
        raise ValueError(
            f"{run_only} is for runs of kbert, but {path} is not a run; convert it first: kbert "
            f"convert --from={path} --to=runs/{Path(path).name}"
        )
    checkpoint = read_checkpoint(path, do_lower_case, allow_unmatched)
    if config is not None:
        checkpoint = with_config(checkpoint, config)
    elif eval_file and _may_take_pairs(checkpoint) and holds_pairs(eval_file):
        checkpoint = dataclasses.replace(checkpoint, takes_pairs=True)
    with tempfile.TemporaryDirectory(prefix="kbert_") as aside:
        run_path = Path(aside) / (Path(path).resolve().name or "checkpoint")
        write_kbert_run(checkpoint, run_path, Report(KBERT, str(run_path)))
        logging.info("%s is a checkpoint of %s, task %s", path, checkpoint.report.format, checkpoint.task)
        yield RunDirectory(run_path)


def _may_take_pairs(checkpoint) -> bool:
    return checkpoint.takes_pairs is None and "takes_pairs" in checkpoint.known_task.task_config


def with_config(checkpoint: BertCheckpoint, config: FinetuningConfig) -> BertCheckpoint:
    """The checkpoint with the columns, the `task_settings` and the length of a fine-tuning config.

    Args:
      checkpoint: of any format but kbert's own, which records all this.
      config: a config of its task, or of one that `needs_no_more_weights`. The labels are the checkpoint's:
        its logits stand in their order.

    Raises:
      ValueError: for a config of another task or with wrong settings, for one of its dataset that nothing
        reads, and for a length beyond the positions.
    """
    own = TASKS[checkpoint.task].from_labels(checkpoint.labels).with_pooling(checkpoint.pooling)
    if config.task != own.name and not needs_no_more_weights(TASKS[TASKS.require(config.task)], own):
        raise ValueError(
            f"the config is for the task {config.task}, but {checkpoint.source} is "
            f"a model of {checkpoint.task}; give a config of its task."
        )
    require_read(config.task, config.dataset)
    positions = checkpoint.encoder.max_position_embeddings
    if config.max_seq_length > positions:
        raise ValueError(
            f"the config has max_seq_length={config.max_seq_length}, but {checkpoint.source} has {positions} "
            f"positions; give a config with max_seq_length={positions} or less."
        )
    task_class, dataset = TASKS[config.task], config.dataset
    if task_class.checkpoint.has_labels:
        dataset = dataclasses.replace(dataset, labels=checkpoint.labels)
    task = task_class.from_dataset(dataset, task_class.read_settings(config.task_settings))
    recorded = RecordedTask(
        task_config=task.with_pooling(checkpoint.pooling).with_activation(checkpoint.activation).get_config(),
        dataset=dataset,
        task_settings=config.task_settings,
        best_metric=config.best_metric,
    )
    return dataclasses.replace(
        checkpoint, task=config.task, recorded=recorded, max_seq_length=config.max_seq_length
    )


def needs_no_more_weights(task_class, own) -> bool:
    """Whether a kind of task answers a text as the task of a checkpoint does, with its encoder alone.

    Tasks on pairs of vectors do: they have no head, so any encoder of vectors can be measured on their files.
    """
    if own.serving is None or own.serving.one_text_output is None or task_class.parts != ():
        return False
    return task_class.from_labels(()).serving.one_text_output == own.serving.one_text_output
