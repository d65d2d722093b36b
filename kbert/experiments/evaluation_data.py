"""The data that a model is evaluated on: opened, and compared with what it was trained on."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator

from absl import logging

from kbert.checkpoints.conversion.untrained_rows import warn_of_positions
from kbert.config import PretrainingConfig
from kbert.experiments.finished_run import content_digest
from kbert.experiments.labelled_file import LabelledFile
from kbert.input_pipelines.data_files import shown_source
from kbert.input_pipelines.records.record_folders import LabelledRecords, PretrainingRecords
from kbert.runs.run_directory import RunDirectory
from kbert.runs.run_file import holds_run
from kbert.tasks.file_columns import takes_either, with_pairs
from kbert.tasks.pretraining.objectives import evaluated_task


def evaluation_data(loaded, eval_file, input_dir=None, held_out=False):
    """The examples or records, checked.

    Args:
      loaded: the `LoadedModel`, see `LoadedModel.for_files`.
      eval_file, input_dir: as for `evaluate`.
      held_out: whether only the part is meant that `dev_split` held out.

    Returns:
      A `LabelledFile`, `LabelledRecords` or `PretrainingRecords`.

    Raises:
      ValueError: when the data do not match the model.
    """
    if isinstance(loaded.training_config, PretrainingConfig):
        return _pretraining_records(loaded, eval_file, input_dir)
    task, length, config = loaded.task, loaded.max_seq_length, loaded.training_config
    if task.files is None:
        raise ValueError(
            f"{loaded.source} has the task {task.name}, which is not evaluated on labelled examples; "
            "give vectors of texts the config of a task that compares them, such as config="
            "configs/finetuning/stsb_embeddings.toml, and fine-tune others first (kbert finetune)."
        )
    if eval_file:
        return labelled_examples(loaded, task, eval_file, length, held_out)
    answering = {name: getattr(task.settings, name) for name in task.row_settings}
    settings = dataclasses.replace(task.read_settings(config.task_settings), **answering)
    data = LabelledRecords(input_dir, type(task), length, settings)
    data.require_order()
    dataset = config.dataset
    if takes_either(task.get_config()):
        dataset = dataclasses.replace(dataset, text_pair=data.dataset.text_pair)
    data.agreed_dataset(dataset)
    data.check_with(task, length, loaded.source, loaded.vocabulary.describe())
    _warn_of_training_data(loaded, data)
    return data


def labelled_examples(loaded, task, eval_file, max_seq_length: int, held_out) -> LabelledFile:
    """Those of a file, checked; `loaded`, `eval_file` and `held_out` are those of `evaluation_data`."""
    dataset = with_pairs(loaded.training_config.dataset, task.get_config(), eval_file)
    data = LabelledFile(eval_file, task.files, dataset)
    if held_out:
        data = held_out_part(loaded.run, data)
    _warn_of_training_data(loaded, data)
    data.check_with(task, max_seq_length, loaded.source, loaded.vocabulary.describe())
    return data


def trained_runs(path) -> Iterator[RunDirectory]:
    """The run in a folder, if it is one, and those that gave it its weights, if they are the same still."""
    digest = None
    while path and holds_run(path) and digest in (None, content_digest(path)):
        run = RunDirectory(path)
        yield run
        path, digest = run.details.get("init_checkpoint"), run.details.get("init_digest") or ""


def warn_of_training_data(runs: Iterable[RunDirectory], data):
    """Warns where data to evaluate on are what a run was trained on, or this and what it held out.

    Args:
      runs: those that trained the weights.
      data: a `LabelledFile`, also the held-out part of one, `LabelledRecords` or `PretrainingRecords`.
    """
    is_file = data.examples is not None
    whole = data.whole if is_file else data
    for run in runs:
        held_out = run.details.get("held_out")
        if (
            is_file
            and held_out
            and data.num_examples == held_out["num_examples"]  # a digest takes seconds for a million
            and data.digest == held_out["digest"]
        ):
            continue
        trained, digests = run.details.get("num_train_examples", 0), run.details.get("data", {}).get("train")
        drawn, number = whole, getattr(run.config, "max_train_examples", None)
        if is_file and number:
            drawn = whole.at_most(number, run.config.dev_split_seed)
        if drawn.fingerprint in (digests if isinstance(digests, list) else [digests]):  # a list: of phases
            trained, others = drawn.num_examples, ""
        elif is_file and held_out and _is_split(run, whole):
            others = "; split=dev takes those that were held out, as a training with the same dev_split does"
        else:
            continue
        logging.warning(
            "%s holds the training data of %s, and %s of its %s examples were trained on: their scores, and "
            "a temperature or thresholds chosen by them, say little about other texts%s.",
            shown_source(data.path),
            run.path,
            f"{trained:,}",
            f"{whole.num_examples:,}",
            others,
        )
        return


def _warn_of_training_data(loaded, data):
    warn_of_training_data(trained_runs(loaded.run and loaded.run.path), data)


def _is_split(run, data) -> bool:
    """Whether a run was trained on some of the examples, of which `dev_split` held out others."""
    held_out = run.details["held_out"]
    number = run.details.get("num_train_examples", 0) + held_out["num_examples"]
    if data.num_examples < number or data.num_examples > number and not run.config.max_train_examples:
        return False
    with contextlib.suppress(ValueError):  # of other examples, of which nothing would be held out
        return _held_out(run, data).digest == held_out["digest"]
    return False


def _held_out(run, data):
    """The part of the examples that the `dev_split` of a run holds out."""
    recorded = run.details["held_out"]["digest"]
    return data.split(run.config.dev_split, run.config.dev_split_seed, recorded)[1]


def _pretraining_records(loaded, eval_file, input_dir):
    if eval_file:
        raise ValueError(
            f"{loaded.source} has the task {loaded.task.name}, but eval_file is for runs on labelled "
            "examples; give input_dir with records of kbert pretraining-data instead."
        )
    records = PretrainingRecords(input_dir)
    records.require_vocabulary(loaded.source, loaded.vocabulary.describe())
    evaluated_task(loaded.task, records)
    records.require_room(loaded.config)
    trained = loaded.run.trained_positions(loaded.checkpoint) if loaded.run else None
    warn_of_positions(loaded.source, loaded.config, trained, records.longest)
    records.check()
    _warn_of_training_data(loaded, records)
    return records


def not_held_out(path) -> str:
    """The sentence for `split="dev"` where nothing was held out."""
    return (
        "split=dev needs a run that was trained with dev_split, and its training file as eval_file; "
        f"{path} was trained without it, or eval_file is missing."
    )


def held_out_part(run, data):
    """The examples that a run has not been trained on, of the file that it was trained on.

    Args:
      run: the `RunDirectory`.
      data: the `LabelledFile` of its training file.

    Raises:
      ValueError: when the run was trained without `dev_split`, or on other examples.
    """
    recorded = run.details.get("held_out")
    if not recorded:
        raise ValueError(not_held_out(run.path))
    held_out = _held_out(run, data)
    if held_out.digest != recorded["digest"]:
        raise ValueError(
            f"{data.path} is not what {run.path} was trained on: the {recorded['num_examples']} examples "
            "that were held out cannot be found again. Give the file as it was, as eval_file."
        )
    return held_out
