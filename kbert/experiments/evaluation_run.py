"""The part of an evaluation that needs TensorFlow: `evaluate` has opened the model, without weights yet."""

import math
import os
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from kbert.config import PretrainingConfig
from kbert.experiments.evaluation_data import evaluation_data, not_held_out
from kbert.files.output_path import check_output_file
from kbert.inference.changes import changes_since_checkpoint
from kbert.inference.loaded_model import LoadedModel
from kbert.input_pipelines.batches import evaluation_batches
from kbert.input_pipelines.data_files import shown_source
from kbert.input_pipelines.records.record_reader import naming_damaged_records
from kbert.input_pipelines.source_rows import make_rows
from kbert.reports.evaluation_page import write_evaluation_page
from kbert.runs import chosen_settings
from kbert.runs.checkpoint import parse_step
from kbert.tasks.pretraining.objectives import evaluated_task
from kbert.training.evaluation_step import EvaluationStep, evaluate_batches


class Outputs(NamedTuple):
    """What an evaluation makes beside its metrics, see `evaluate`."""

    predictions_dir: str | os.PathLike | None
    keep_chosen: bool
    html_file: str | os.PathLike | None
    html_examples: int


def run_evaluation(loaded: LoadedModel, eval_file, input_dir, held_out, batch_size, outputs: Outputs):
    """Evaluates an opened model.

    Args:
      loaded: the `LoadedModel`, see `LoadedModel.for_files`.
      eval_file, input_dir, batch_size: as for `evaluate`.
      held_out: whether only the part is meant that `dev_split` held out.
      outputs: what to write and keep.

    Returns:
      (task, metrics), as `evaluate` does.
    """
    strategy = tf.distribute.get_strategy()
    if (replicas := strategy.num_replicas_in_sync) > 1:
        raise ValueError(
            f"an evaluation runs on one device, and this one stands in the scope of a strategy of {replicas} "
            "replicas, each of which would count every example: call it outside of `with strategy.scope():`, "
            "where the same model may be asked."
        )
    _require_examples(loaded, eval_file, outputs)
    if held_out and not (eval_file and "held_out" in loaded.run.details):
        raise ValueError(not_held_out(loaded.source))
    data = evaluation_data(loaded, eval_file, input_dir, held_out)
    # Only once: in a run that is still training, "last" and "best" soon mean another checkpoint. The model
    # comes first: where its checkpoint has just been deleted, it is another one's, and so is the task.
    model, task = loaded.model, loaded.task
    if isinstance(loaded.training_config, PretrainingConfig):
        task = evaluated_task(task, data)
    if not task.reads_unattended:
        model = loaded.answering_model
    if batch_size is None:
        batch_size = loaded.evaluation_batch_size
    if outputs.keep_chosen:
        _require_as_recorded(loaded)
    step = parse_step(loaded.checkpoint) if loaded.checkpoint else 0
    answered: list[tuple] = []  # (examples, predictions), where the task collects any
    with naming_damaged_records(data):
        rows = make_rows(data, task, loaded.text_inputs)
        batches = evaluation_batches(rows, batch_size, loaded.training_config.pad_to_longest)
        evaluation_step = EvaluationStep(task, model, strategy, for_page=bool(outputs.html_file))
        records = data.manifest.num_examples if data.manifest else 0  # batches of a file know their number
        metrics = evaluate_batches(
            task, evaluation_step, batches, data.examples, rows.owners,
            lambda *batch: answered.append(batch), -(-records // batch_size),
        )  # fmt: skip
        _require_finite_losses(loaded.source, metrics)
        for examples, predictions in answered if outputs.predictions_dir else ():
            task.write_predictions(examples, predictions, outputs.predictions_dir)
        metrics |= task.baseline(batches.as_numpy_iterator(), loaded.vocabulary)
    if outputs.keep_chosen:
        loaded.run.keep_chosen(step, task.chosen(metrics), shown_source(eval_file))
        loaded.follow_chosen()
    metrics |= {"num_examples": data.num_examples}
    if outputs.html_file:
        _write_page(loaded, task, shown_source(eval_file or input_dir), step, metrics, answered, outputs)
    return task, metrics


def _write_page(loaded, task, data, step, metrics, answered, outputs):
    """The page of what `task` answered, which need not be the one that answers from now on."""
    folder = loaded.run.path if loaded.run else Path(loaded.source)
    sections = list(task.page.metric_sections(metrics)) if task.page else []
    for examples, predictions in answered if task.page else ():
        sections += task.page.example_sections(examples, predictions, outputs.html_examples)
    best = loaded.training_config.best_metric or task.best_metric
    if loaded.checkpoint is None or {*changes_since_checkpoint(loaded)} - {"max_seq_length"}:
        step = None
    write_evaluation_page(folder, data, step, best, metrics, sections, outputs.html_file)


def _require_examples(loaded, eval_file, outputs):
    """Refuses what needs the examples themselves where there are none, or a task that has no such thing."""
    task = loaded.task
    if outputs.predictions_dir and not (eval_file and task.write_predictions):
        raise ValueError(
            f"predictions_dir is for a task that writes its predictions, with eval_file; "
            f"{loaded.source} has the task {task.name}."
        )
    if outputs.keep_chosen and not (eval_file and task.chooses):
        raise ValueError(
            f"keep_chosen is for a task with a temperature or thresholds, with eval_file; "
            f"{loaded.source} has the task {task.name}, which has none with its settings, or eval_file is "
            "missing."
        )
    if outputs.keep_chosen:
        check_output_file(loaded.run.path / chosen_settings.FILE, overwrite=True)
    if task.reads_unattended and loaded.precision != "float32":
        raise ValueError(
            f"precision={loaded.precision}: {loaded.source} fills its queries with tokens that none attends "
            "to, so it is evaluated in float32 alone: load it so, or evaluate a search with "
            "kbert.evaluate_retrieval."
        )


def _require_as_recorded(loaded):
    """Refuses to choose for a checkpoint with a model that is another one by now."""
    if changed := changes_since_checkpoint(loaded) + ["precision"] * (loaded.precision != "float32"):
        raise ValueError(
            f"keep_chosen keeps what is best for {loaded.checkpoint}, but this model has another "
            f"{changed[0]}; load the run as it is, or save this model as a run and evaluate that one."
        )


def _require_finite_losses(source, metrics):
    """Checks losses only: a score can be undefined, for example a correlation with a constant."""
    for name, value in metrics.items():
        if name.endswith("loss") and not math.isfinite(value):
            raise ValueError(
                f"{source}: {name} is {value}, not a finite number: the weights are damaged or far too "
                "large; use another checkpoint."
            )
