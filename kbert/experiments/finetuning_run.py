"""The part of a fine-tuning that needs TensorFlow: `finetune` has checked before what needs none."""

import dataclasses
from typing import Any

from absl import logging

from kbert.checkpoints.conversion.untrained_rows import warn_of_positions
from kbert.checkpoints.model_variables import model_shapes
from kbert.config import DRAWN_ROWS, Devices, FinetuningConfig
from kbert.experiments.baselines import warn_of_constant
from kbert.experiments.evaluation_data import warn_of_training_data
from kbert.experiments.finetuning_checks import (
    require_pooler,
    too_few_steps,
    unread_windows,
    what_to_try,
)
from kbert.experiments.finetuning_data import FinetuningData, LabelledPaths, open_data
from kbert.experiments.frozen_encoder import EncodedRows, FrozenEncoder
from kbert.experiments.init import Init
from kbert.experiments.start import Start
from kbert.experiments.trained_run import log_examples, log_unread_settings, trained_run
from kbert.input_pipelines.batches import evaluation_batches
from kbert.input_pipelines.data_files import require_one_batch, shown_source
from kbert.input_pipelines.source_rows import make_rows
from kbert.tasks import TASKS
from kbert.tokenization.text_inputs import TextInputs
from kbert.training.devices import distribution
from kbert.training.phases import EvaluationData, Phase, Plan
from kbert.training.trainer import train


def run_finetuning(
    config: FinetuningConfig,
    run_dir,
    paths: LabelledPaths,
    init: Init,
    devices: Devices,
    data: FinetuningData | None,
):
    """Trains, or goes on.

    Args:
      config, run_dir, paths, init: what `finetune` was given.
      devices: see `make_strategy`.
      data: what `open_data` gave, where that needed no TensorFlow.

    Returns:
      (task, metrics), as `finetune` does.
    """
    strategy = distribution.make_strategy(devices)  # before any other use of TensorFlow
    distribution.require_whole_shares(config, strategy, paths.has_dev or bool(config.dev_split))

    # Open the data; then the checkpoint, which takes far longer. Check that they go together.
    data = data or open_data(config, paths, run_dir)
    num_train_steps = _num_train_steps(config, data.train)
    task_class = TASKS[config.task]
    settings = task_class.settings_at(task_class.read_settings(config.task_settings), config.max_seq_length)
    labels_of = None if config.dataset.labels else data.train.path
    new_task = task_class.from_dataset(data.dataset, settings, labels_of)
    new_task = new_task.for_training(data.train.count_labels)
    start = Start(config, init, run_dir, new_task)
    task = new_task.with_pooling(start.pooling).with_activation(start.activation)
    if data.dev.get("") and data.dev[""].examples is None and task.best_metric_of_records:
        task.best_metric = task.best_metric_of_records
    config = _complete_config(dataclasses.replace(config, dataset=data.dataset), start)
    _require_fit(task, config, data, start, init.checkpoint or paths.train_dir or run_dir)
    trained_task: Any = FrozenEncoder(task, run_dir) if config.freeze_encoder else start.taught(task)
    if sentence := too_few_steps(config, data.train.num_examples, num_train_steps):
        logging.warning("%s", sentence)
    for source in data.dev.values():
        warn_of_training_data(start.runs, source)
    if not data.dev:
        log_unread_settings(config, "dev_file, dev_dir, dev_split")

    # Train, and compare with a constant answer.
    details = _details(task, config, data, paths, start)
    with trained_run(strategy, run_dir, config, details, start.vocabulary, data.all) as run:
        phase = _phase(config, data, num_train_steps, trained_task, start.vocabulary)
        log_examples(task, phase.rows, start.vocabulary)
        if sentence := unread_windows(config, data.train.num_examples, phase.rows.num_rows):
            logging.warning("%s", sentence)
        every = eval_every_steps(config, data.train.num_examples) or num_train_steps
        plan = Plan((phase,), every, config.early_stopping_patience, start.set_weights)
        metrics = train(trained_task, config, plan, run, strategy)
        if metrics:
            metrics = _with_baselines(task, metrics, phase, start.vocabulary)
            warn_of_constant(task, metrics, what_to_try(config, num_train_steps))
    return task, metrics


def _num_train_steps(config, train_data):
    """int(examples / batch size x epochs), as in google-research/bert, run_classifier.py. A long text is one
    example, however many windows it has in records."""
    examples, batch = train_data.num_examples, config.train_batch_size
    drawn = [f"{name}={value}" for name in DRAWN_ROWS if (value := getattr(config, name))]
    source = f"{train_data.path} with {', '.join(drawn)}" if drawn else train_data.path
    require_one_batch(source, examples, batch)
    number = int(examples / batch * config.num_train_epochs)
    if not number:
        smaller, enough = int(examples * config.num_train_epochs), (1000 * batch // examples + 1) / 1000
        raise ValueError(
            f"{examples} examples in batches of {batch} over {config.num_train_epochs} epochs are less than "
            f"one step; raise num_train_epochs to {enough} or more"
            + (f", or set train_batch_size={smaller} or lower." if smaller else ".")
        )
    return number


def _complete_config(config, start):
    """The config with the encoder to train."""
    if start.vocabulary is None or start.encoder is None:
        raise ValueError(
            "no weights or vocabulary to start from: give init_checkpoint, for example bert-base-uncased. "
            "Or, for random weights, give vocab_file or tokenizer, and an encoder in the config."
        )
    encoder = start.encoder
    if config.max_seq_length > encoder.max_position_embeddings:
        raise ValueError(
            f"max_seq_length={config.max_seq_length} is more than the encoder's "
            f"max_position_embeddings={encoder.max_position_embeddings}; choose a smaller one. A "
            f"checkpoint gets more positions by kbert convert --max_position_embeddings="
            f"{config.max_seq_length}, random weights by the config."
        )
    if len(start.vocabulary) > encoder.vocab_size:
        raise ValueError(
            f"the vocabulary has {len(start.vocabulary)} tokens, but the encoder's vocab_size is "
            f"{encoder.vocab_size}; use the vocabulary of the checkpoint, or a larger vocab_size."
        )
    return dataclasses.replace(config, encoder=encoder)


def _require_fit(task, config, data, start, owner):
    """Raises ValueError where data, task, teacher and what the run starts from do not go together."""
    require_pooler(config, task)
    _require_updated(config, task)
    source, longest = start.details["init_checkpoint"], task.row_length(config.max_seq_length)
    warn_of_positions(source, config.encoder, start.trained_positions, longest)
    start.check_teacher(task, config.encoder, start.vocabulary, longest)
    for source in data.all:
        source.check_with(task, config.max_seq_length, owner, start.vocabulary.describe())
    task.check_training(config, data.train.examples)
    main, metric = data.dev.get(""), config.best_metric or task.best_metric
    if main is not None and not task.is_score(metric):
        raise ValueError(
            f"best_metric={metric!r} is no score: neither more nor less of it is better, so it tells no best "
            f"checkpoint; set a score, such as --override=best_metric={task.best_metric}."
        )
    if main is not None and main.examples is not None:
        task.check_metric(metric, main.examples)


def _require_updated(config, task):
    """Raises ValueError where a complete config freezes every weight: a model of vectors may have no head."""
    if config.frozen.embeddings and not any(map(config.is_updated, model_shapes(config.encoder, task))):
        raise ValueError(
            f"[frozen] leaves nothing to train: a model for {task.name} has no weights above its encoder, of "
            f"which embeddings and all {config.encoder.num_hidden_layers} layers are frozen; freeze fewer."
        )


def _details(task, config, data, paths, start):
    """The content of run.json."""
    return {
        **TASKS.to_record(task),
        "max_seq_length": config.max_seq_length,
        "trained_positions": start.trained_positions_after(task.row_length(config.max_seq_length)),
        "train_file": shown_source(paths.train_file or paths.train_dir),
        **start.details,
        "from_scratch": not start.has_weights,
        **data.details(config),
    }


def _phase(config, data, num_train_steps, trained_task, vocabulary):
    """All steps, on tokenized data."""
    text_inputs = TextInputs(vocabulary, config.max_seq_length)

    def read(source):
        rows: Any = make_rows(source, trained_task, text_inputs)
        return EncodedRows(rows, trained_task) if config.freeze_encoder else rows

    return Phase(
        config,
        num_train_steps,
        num_warmup_steps=int(num_train_steps * config.warmup_proportion),
        rows=read(data.train),
        evaluations={
            prefix: EvaluationData(read(source), source.examples) for prefix, source in data.dev.items()
        },
    )


def eval_every_steps(config: FinetuningConfig, num_train_examples: int) -> float | None:
    """The steps of the epochs between two evaluations, which need not be whole; see `Plan`."""
    if config.eval_every_epochs is None:
        return config.eval_every_steps
    return config.eval_every_epochs * num_train_examples / config.train_batch_size


def _with_baselines(task, metrics, phase, vocabulary):
    """With what the best constant answer scores: `baseline_accuracy`, `mismatched_baseline_accuracy`."""
    with_baselines, config = dict(metrics), phase.config
    for prefix, data in phase.evaluations.items():
        batches = evaluation_batches(data.rows, config.eval_batch_size, config.pad_to_longest)
        baseline = task.baseline(batches.as_numpy_iterator(), vocabulary)
        with_baselines |= {prefix + name: value for name, value in baseline.items()}
    return with_baselines
