"""A labelled file or records + a checkpoint -> a run directory."""

import contextlib
import dataclasses
from typing import Any

from absl import logging

from kbert.config import FinetuningConfig
from kbert.experiments.constant_answer import add_baselines, no_better_than_constant
from kbert.experiments.devices import Devices
from kbert.experiments.finetuning_checks import (
    labels_left_out,
    require_columns_of_files,
    require_pooler,
    require_trainable,
    require_weights,
    too_few_steps,
)
from kbert.experiments.labelled_paths import LabelledPaths
from kbert.experiments.starting_point import Start, StartingPoint, find_starting_point
from kbert.experiments.teaching import Teaching, start_of_weights
from kbert.input_pipelines.records.record_files import read_vocabulary
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary import Vocabulary


def run_finetuning(
    config: FinetuningConfig,
    run_dir,
    train_file=None,
    dev_file=None,
    init_checkpoint=None,
    from_scratch=False,
    vocabulary: Vocabulary | None = None,
    strategy="auto",
    num_devices=None,
    do_lower_case=None,
    allow_unmatched=(),
    train_dir=None,
    dev_dir=None,
    cluster="tf_config",
    tpu=None,
    other_dev_files=None,
):
    """`finetune` with one argument for each flag."""
    return finetune(
        config,
        run_dir,
        LabelledPaths(train_file, dev_file, train_dir, dev_dir, other_dev_files or {}),
        Start(init_checkpoint, do_lower_case, allow_unmatched, from_scratch, vocabulary),
        Devices(strategy, num_devices, cluster, tpu),
    )


def finetune(config: FinetuningConfig, run_dir, paths: LabelledPaths, start: Start, devices: Devices):
    """Fine-tunes as `config` says, from the newest checkpoint in `run_dir` if there is one.

    Args:
      config: a `FinetuningConfig`. With an `init_checkpoint` its encoder must be None or the same as the
        checkpoint's.
      run_dir: the folder of the run.
      paths: the data.
      start: the weights and vocabulary to start from.
      devices: the devices to train on.

    Returns:
      (task, metrics): the task, and the metrics on the development data, with the score of the best constant
        answer on them (`baseline_accuracy`); None without development data.

    Raises:
      ValueError: before any heavy work, when files, labels, lengths and the encoder do not match.
    """
    require_trainable(config, paths)
    require_weights(config, start_of_weights(config.distillation, start))
    require_columns_of_files(config, paths)

    # TensorFlow loads here, after all checks that do not need it.
    from kbert.experiments.frozen_encoder import EncodedRows, FrozenEncoder
    from kbert.reports.run_page import write_page_of_run
    from kbert.training.devices.distribution import is_chief, require_whole_shares
    from kbert.training.trainer import open_run, train

    strategy = devices.make_strategy()  # before any other use of TensorFlow
    require_whole_shares(config, strategy)
    train_data, dev, dataset = _open_data(config, paths)
    # Before the checkpoint is read, which takes far longer than the labelled files.
    num_train_steps = _num_train_steps(config, train_data)
    config = dataclasses.replace(config, dataset=dataset)
    task = TASKS[config.task].from_dataset(dataset, _settings(config))
    task = task.for_training(train_data.count_labels)
    if paths.train_dir and not (start.init_checkpoint or start.vocabulary):
        start = dataclasses.replace(start, vocabulary=read_vocabulary(paths.train_dir, train_data.manifest))
    if start.vocabulary:
        start.require_casing(start.vocabulary, paths.train_dir or "the training")
    teaching = Teaching(config, start)
    begins = teaching.start(start)
    point = find_starting_point(begins, run_dir, config.encoder, task, config.begins_anew)
    task = task.with_pooling(point.pooling)
    config = _complete_config(config, point)
    require_pooler(config, task)
    teaching.check(run_dir, task, config.encoder, point.vocabulary, config.max_seq_length)
    for data in (train_data, *dev.values()):
        data.check_with(task, config.max_seq_length)
        data.require_vocabulary(
            start.init_checkpoint or paths.train_dir or run_dir, point.vocabulary.describe()
        )
    train_data.check_training(task, config)
    training: Any = teaching.task(task)
    if config.freeze_encoder:
        training = FrozenEncoder(task, run_dir)
        train_data = EncodedRows(train_data, training)
        dev = {name: EncodedRows(data, training) for name, data in dev.items()}
    if sentence := too_few_steps(config, train_data.num_examples, num_train_steps):
        logging.warning("%s", sentence)

    details = _details(task, config, paths, begins, train_data, dev) | teaching.details
    with contextlib.ExitStack() as stack:
        run = stack.enter_context(open_run(strategy, run_dir, config, details, point.vocabulary))
        for data in (train_data, *dev.values()):
            stack.enter_context(data.naming_damaged_records())
        _tokenize(task, config, point.vocabulary, train_data, *dev.values())
        _log_examples(task, train_data.first_rows(2), point.vocabulary)
        plan = _plan(config, strategy, train_data, dev, num_train_steps, teaching.initialize(point))
        metrics = train(training, config, plan, run, strategy)
        if metrics:
            metrics = add_baselines(task, metrics, dev, config, point.vocabulary)
    if is_chief(strategy):
        write_page_of_run(run.path)
    for sentence in no_better_than_constant(metrics or {}, task.higher_is_better):
        logging.warning("%s", sentence)
    logging.info("the run is in %s", run.path)
    return task, metrics


def _details(task, config, paths, start, train_data, dev):
    """What run.json says of the run."""
    return {
        **TASKS.record_of(task),
        "max_seq_length": config.max_seq_length,
        "num_train_examples": train_data.num_examples,
        "train_file": str(paths.train_file or paths.train_dir),
        **start.details,
        "from_scratch": not start.has_weights,
        "data": {"train": train_data.fingerprint, "eval": _fingerprint(dev)},
        **_held_out(config, dev),
    }


def _held_out(config, dev):
    """What run.json says of a `dev_split`: how many examples, and what tells them again (`evaluate`)."""
    if not config.dev_split:
        return {}
    return {"held_out": {"num_examples": dev[""].num_examples, "digest": dev[""].digest}}


def _open_data(config, paths):
    """(training data, development data by what stands before its metrics' names, complete `DatasetConfig`).

    The development data that choose the best checkpoint come first, under "".
    """
    from kbert.experiments.labelled_file import LabelledFile
    from kbert.input_pipelines.records.record_folders import LabelledRecords

    task_class, settings = TASKS[config.task], _settings(config)
    if task_class.files is None:
        able = [name for name in TASKS if TASKS[name].files]
        raise ValueError(f"task={config.task!r} cannot be fine-tuned; choose one of {', '.join(able)}.")

    def open_data(path, directory, dataset):
        if path:
            return LabelledFile(path, task_class, dataset)
        if directory:
            return LabelledRecords(directory, task_class, config.max_seq_length, settings)
        return None

    train_data = open_data(paths.train_file, paths.train_dir, config.dataset)
    dataset = train_data.agreed_dataset(config.dataset)
    dev = {"": open_data(paths.dev_file, paths.dev_dir, dataset)} if paths.have_dev else {}
    if config.dev_split:
        whole = train_data
        train_data, dev[""] = train_data.split(config.dev_split, config.dev_split_seed)
        _log_split(config, train_data, dev[""])
        _warn_of_labels(
            f"dev_split={config.dev_split}", whole, {"training": train_data, "evaluation": dev[""]}
        )
    if config.max_train_examples:
        whole = train_data
        train_data = train_data.at_most(config.max_train_examples, config.dev_split_seed)
        _warn_of_labels(f"max_train_examples={config.max_train_examples}", whole, {"training": train_data})
    for name, path in paths.other_dev_files.items():
        dev[f"{name}_"] = open_data(path, None, dataset)
    for data in dev.values():
        data.agreed_dataset(dataset)
    return train_data, dev, dataset


def _log_split(config, train_data, dev):
    for name, data in (("training", train_data), ("evaluation", dev)):
        counts, number = data.count_labels()
        found = ", ".join(f"label {label}: {counts[label]:,}" for label in sorted(counts))
        logging.info(
            "dev_split=%s: %s examples for %s%s",
            config.dev_split,
            f"{number:,}",
            name,
            found and f" ({found})",
        )


def _warn_of_labels(setting, whole, parts):
    for name, data in parts.items():
        if sentence := labels_left_out(setting, name, whole.count_labels()[0], data.count_labels()[0]):
            logging.warning("%s", sentence)


def _fingerprint(dev):
    """That of all development data together; None where there are none, or older records without one."""
    found = [data.fingerprint for data in dev.values()]
    return "+".join(found) if found and all(found) else None


def _settings(config):
    return TASKS[config.task].read_settings(config.task_settings)


def _complete_config(config, point: StartingPoint):
    """The config with the encoder to train."""
    if point.vocabulary is None or point.encoder is None:
        raise ValueError(
            "no weights or encoder to start from: give --init_checkpoint, for example "
            "--init_checkpoint=bert-base-uncased, or give --vocab_file and an encoder in the config."
        )
    encoder = point.encoder
    if config.dropout_prob is not None:
        encoder = dataclasses.replace(
            encoder,
            hidden_dropout_prob=config.dropout_prob,
            attention_probs_dropout_prob=config.dropout_prob,
        )
    if config.max_seq_length > encoder.max_position_embeddings:
        raise ValueError(
            f"max_seq_length={config.max_seq_length} is more than the encoder's "
            f"max_position_embeddings={encoder.max_position_embeddings}."
        )
    if len(point.vocabulary) > encoder.vocab_size:
        raise ValueError(
            f"the vocabulary has {len(point.vocabulary)} pieces, but the encoder's vocab_size is "
            f"{encoder.vocab_size}; use the vocabulary of the checkpoint, or a larger vocab_size."
        )
    return dataclasses.replace(config, encoder=encoder)


def _num_train_steps(config, train_data):
    """int(examples / batch size x epochs), as in google-research/bert, run_classifier.py."""
    train_data.require_one_batch(config.train_batch_size)
    number = int(train_data.num_examples / config.train_batch_size * config.num_train_epochs)
    if not number:
        raise ValueError(
            f"{train_data.num_examples} examples in batches of {config.train_batch_size} over "
            f"{config.num_train_epochs} epochs are less than one step; lower train_batch_size "
            "(--override=train_batch_size=8) or raise num_train_epochs."
        )
    return number


def _tokenize(task, config, vocabulary, *data):
    from kbert.tokenization.text_inputs import TextInputs

    text_inputs = TextInputs(vocabulary, config.max_seq_length)
    for one in data:
        one.tokenize_with(task, text_inputs)


def _log_examples(task, rows, vocabulary):
    """Logs decoded inputs with their labels, so that the user sees a wrong column or vocabulary at once."""
    for number in range(len(rows["input_ids"])):
        for line in task.describe({name: values[number] for name, values in rows.items()}, vocabulary):
            logging.info("%.100s", line)


def _plan(config, strategy, train_data, dev, num_train_steps, initialize):
    from kbert.training.devices.jit import needs_whole_batches
    from kbert.training.phases import EvaluationData, Phase, Plan

    with_fill = needs_whole_batches(config, strategy)

    def train_batches(consumed, share):
        return train_data.training_batches(
            config.train_batch_size, config.seed, consumed, config.pad_to_longest, share=share
        )

    def evaluation(data):
        def batches(share):
            return data.evaluation_batches(
                config.eval_batch_size, config.pad_to_longest, with_fill=with_fill, share=share
            )

        return EvaluationData(batches, data.evaluated_examples)

    evaluations = {prefix: evaluation(data) for prefix, data in dev.items()}
    first = evaluations.pop("", None)
    phase = Phase(
        config=config,
        num_train_steps=num_train_steps,
        num_warmup_steps=int(num_train_steps * config.warmup_proportion),
        make_train_batches=train_batches,
        make_eval_batches=first and first.make_batches,
        eval_examples=first and first.examples,
        other_evaluations=evaluations,
    )
    return Plan(
        phases=(phase,),
        eval_every_steps=_eval_every_steps(config, train_data.num_examples) or num_train_steps,
        early_stopping_patience=config.early_stopping_patience,
        initialize=initialize,
    )


def _eval_every_steps(config, num_train_examples):
    if config.eval_every_epochs is None:
        return config.eval_every_steps
    return max(1, round(config.eval_every_epochs * num_train_examples / config.train_batch_size))
