"""Reads kbert's own run directories, and writes a converted checkpoint as a run of 0 steps."""

import dataclasses
from pathlib import Path

from kbert.checkpoints.bert_checkpoint import BertCheckpoint, RecordedTask
from kbert.checkpoints.report import Report
from kbert.config import DatasetConfig, PretrainingConfig, TrainingConfig
from kbert.runs import checkpoint as training_checkpoint
from kbert.runs.chosen_settings import read_chosen
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS

_PAIR = "text_pair"  # the column of second texts where none is recorded
_DRAWN = ("dev_split", "dev_split_seed", "max_train_examples")
_TRAINED = ("num_train_examples", "data", "held_out", "init_checkpoint", "init_digest")


def read_kbert_run(path: Path, do_lower_case: bool | None, report: Report) -> BertCheckpoint:
    """Reads the default checkpoint of a run directory, see `RunDirectory.checkpoint`.

    Args:
      path: the run directory.
      do_lower_case: may be given, but must agree with the run.
      report: takes every name; nothing may differ, because a run has exactly its task's variables.

    Raises:
      ValueError: when there is no run or no checkpoint yet, when vocab.txt has changed, or when the model
        file is broken or does not fit the config.
    """
    run = RunDirectory(path)
    run.require_casing(do_lower_case)
    folder = run.checkpoint()
    result, stored = describe_run(run, folder, report), run.stored_weights(folder)
    weights = folder / training_checkpoint.WEIGHTS_FILE
    training_checkpoint.require_tensors(weights, stored, result.shapes)
    return with_trained(result, run, stored, weights)


def describe_run(run: RunDirectory, folder: Path, report: Report) -> BertCheckpoint:
    """A checkpoint of a run without its tensors, which are not read.

    Args:
      run: the run.
      folder: of the checkpoint, which may have been deleted since.
      report: takes what `with_trained` says.

    Raises:
      ValueError: when vocab.txt has changed.
    """
    vocabulary, task = run.vocabulary(), run.task()
    return BertCheckpoint(
        source=str(run.path),
        encoder=run.config.encoder,
        task=task.name,
        labels=getattr(task, "labels", ()),
        vocabulary=vocabulary,
        tensors={},
        max_seq_length=run.details.get("max_seq_length", run.config.encoder.max_position_embeddings),
        report=report,
        converted_from=run.converted_from,
        trained_positions=run.trained_positions(folder),
        takes_pairs=getattr(task, "takes_pairs", None),
        pooling=task.pooling,
        activation=getattr(task, "activation", None),
        recorded=RecordedTask(
            task_config=task.get_config(),
            dataset=getattr(run.config, "dataset", DatasetConfig()),
            task_settings=getattr(run.config, "task_settings", {}),
            best_metric=run.config.best_metric,
            eval_batch_size=run.config.eval_batch_size,
            chosen=read_chosen(run.path, training_checkpoint.parse_step(folder)),
        ),
        trained={name: run.details[name] for name in _TRAINED if name in run.details},
        drawn={name: getattr(run.config, name) for name in _DRAWN if hasattr(run.config, name)},
    )


def with_trained(description: BertCheckpoint, run: RunDirectory, stored: dict, where) -> BertCheckpoint:
    """The same with its tensors. Values that a conversion initialised, and that were never trained, stay out.

    Args:
      description: what `describe_run` gives; its report takes every name.
      run: the run.
      stored: name -> `StoredTensor`, for every variable.
      where: what holds them, for messages.
    """
    untrained, tensors = set(run.details.get("converted", {}).get("initialised", ())), {}
    for name in description.shapes:
        if name in untrained:
            description.report.not_in_file.append((name, "initialised at the conversion, never trained"))
        else:
            tensors[name] = stored[name].as_float32(what=f"{where}: {name}")
            description.report.taken.append((name, name, "as it is"))
    return dataclasses.replace(description, tensors=tensors)


def write_kbert_run(checkpoint: BertCheckpoint, folder: Path, report: Report):
    """Writes a run of 0 steps, which evaluation, prediction, export and --init_checkpoint accept.

    It has what tells the data again that the weights were trained on; its task has the settings, the columns
    and the chosen values that the checkpoint records. Without a record the settings are the defaults, and the
    columns are called "text", "text_pair" and "label".

    Args:
      checkpoint: the model. Missing variables get fresh initial values, and run.json lists their names.
      folder: an empty folder.
      report: takes every name.

    Raises:
      ValueError: for a model that no task of kbert can represent.
    """
    shapes = checkpoint.shapes
    for name in checkpoint.tensors:
        if name in shapes:
            report.taken.append((name, name, "as it is"))
        else:
            report.left_over.append((name, f"kbert's {checkpoint.task} model has no such variable"))
    report.not_in_file.extend((name, "initialised, listed in run.json") for name in checkpoint.missing)

    details = {
        **checkpoint.trained,
        **checkpoint.task_record,
        "max_seq_length": checkpoint.max_seq_length,
        "trained_positions": checkpoint.trained_positions,
        "converted": {
            "from": checkpoint.source,
            "format": checkpoint.report.format,
            "first_format": checkpoint.first_format,
            "initialised": list(checkpoint.missing),
        },
    }
    run = RunDirectory.create_or_resume(folder, run_config(checkpoint), details, checkpoint.vocabulary)
    training_checkpoint.save_checkpoint(
        run.checkpoints,
        step=0,
        weights=checkpoint.complete(),
        slots={},
        state={"examples_consumed": 0},
        keep=1,
    )
    if chosen := checkpoint.known_task.chosen:
        run.keep_chosen(0, *chosen)


def run_config(checkpoint: BertCheckpoint) -> TrainingConfig:
    """The config of the run: the recorded one, unless a conversion says otherwise about pairs. The names of
    columns without a header stay where the second text has one."""
    task, pairs = checkpoint.known_task, checkpoint.takes_pairs
    config_class = TASKS[checkpoint.task].config_class
    description = f"Converted from {checkpoint.source}"
    if issubclass(config_class, PretrainingConfig):
        return config_class(description=description, encoder=checkpoint.encoder)
    dataset = task.dataset
    if pairs is not None and pairs != bool(dataset.text_pair):
        names = dataset.column_names if not pairs or _PAIR in dataset.column_names else ()
        dataset = dataclasses.replace(dataset, text_pair=_PAIR if pairs else None, column_names=names)
    if TASKS[checkpoint.task].checkpoint.has_labels:
        dataset = dataclasses.replace(dataset, labels=checkpoint.labels)
    return config_class(
        description=description,
        encoder=checkpoint.encoder,
        task=checkpoint.task,
        dataset=dataset,
        task_settings=task.task_settings,
        max_seq_length=checkpoint.max_seq_length,
        best_metric=task.best_metric,
        eval_batch_size=task.eval_batch_size,
        **checkpoint.drawn,
    )
