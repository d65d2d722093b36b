"""A labelled file or records + a checkpoint -> a run directory."""

import contextlib
import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from absl import logging

from kbert.config import Devices, FinetuningConfig, settled_config
from kbert.experiments import show_lines
from kbert.experiments.evaluation import add_baselines, no_better_than_constant
from kbert.experiments.finetuning_checks import (
    require_pooler,
    require_read_by_new_run,
    require_trainable,
    require_weights,
    too_few_steps,
    what_to_try,
)
from kbert.experiments.finetuning_data import FinetuningData, LabelledPaths, open_data, reads_early
from kbert.experiments.init import Init, initial_model
from kbert.experiments.teaching import Teaching
from kbert.input_pipelines.data_files import LabelledData, data_as_files, require_one_batch, shown_source
from kbert.tasks import TASKS
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary_files import read_vocabulary
from kbert.training.devices.rendezvous import require_free_port

_NAME_COLUMNS = "Name the columns: kbert.finetune(..., text='review', label='stars'), or rename them."


def finetune(
    config: FinetuningConfig | str | Path,
    run_dir: str | Path,
    train_file: LabelledData = None,
    dev_file: LabelledData = None,
    init_checkpoint: str | Path | None = None,
    *,
    train_dir: str | Path | None = None,
    dev_dir: str | Path | None = None,
    other_dev_files: Mapping[str, LabelledData] | None = None,
    from_scratch: bool = False,
    vocabulary: BaseVocabulary | None = None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] = (),
    **settings,
):
    """Fine-tunes a checkpoint on labelled examples, as `kbert finetune` does with the flags of these names.

    A run that was stopped or killed goes on with the same call, from its newest checkpoint. Afterwards
    `kbert.load(run_dir)` is the model.

    Args:
      config: TOML file, or the config.json of a run, with model, optimizer, batches and epochs. In Python
        also a `FinetuningConfig`. "configs/finetuning/small_data.toml" is made for a few hundred to a few
        thousand texts, in columns called text and label. With an `init_checkpoint` its encoder must be None
        or the same as the checkpoint's.
      run_dir: folder for checkpoints and metrics; a run in it is resumed.
      train_file: labelled TSV, CSV or JSONL file; or a .parquet file, a pattern in quotes for several, or a
        folder of `datasets`. In Python also data in memory: a DataFrame, columns such as {"text": texts,
        "label": labels}, or a list of dicts, a row each. The settings `text`, `text_pair` and `label` name
        the columns.
      dev_file: labelled file for evaluation. In Python also data in memory.
      init_checkpoint, do_lower_case, allow_unmatched: the checkpoint to start from, as for `kbert.load`.
      train_dir: instead of `train_file`: records of kbert finetuning-data.
      dev_dir: instead of `dev_file`: records of kbert finetuning-data.
      other_dev_files: name -> further data to evaluate on, see `LabelledPaths`.
      from_scratch: use vocabulary and encoder shape of `init_checkpoint` but not its weights: a control
        experiment that shows how much pretraining helps.
      vocabulary: the `Vocabulary` of a run without `init_checkpoint`.
      **settings: the fields of `Devices`, such as strategy="mirrored"; and settings of the config by name,
        such as num_train_epochs=3, learning_rate=3e-5, dev_split=0.1, text_pair="text_pair",
        task="sequence_regression".

    Returns:
      (task, metrics): the `Task`, and the metrics on the development data, with the score of the best
        constant answer on them (`baseline_accuracy`); None without development data.

    Raises:
      ValueError: before any heavy work, when files, labels, lengths and the encoder do not match, or a
        setting is unknown.

    Examples:
      >>> import kbert, os, tempfile
      >>> columns = {"text": ["jump the a", "walk a"] * 8, "label": ["loud", "quiet"] * 8}
      >>> folder = os.path.join(tempfile.mkdtemp(), "run")
      >>> task, metrics = kbert.finetune("configs/finetuning/small_data.toml", folder, columns,
      ...                                init_checkpoint=run_dir, max_seq_length=16, num_train_epochs=1)
      >>> sorted(kbert.load(folder).predict("jump a")["probabilities"])
      ['loud', 'quiet']
    """
    show_lines()
    if init_checkpoint and vocabulary:
        raise ValueError(
            f"init_checkpoint={init_checkpoint} brings its own vocabulary; leave vocabulary out, or change "
            "that of the checkpoint first (kbert convert --vocab_file)."
        )
    devices, changes = Devices.taken_from(settings)
    settled = settled_config(FinetuningConfig, config, changes, len(vocabulary) if vocabulary else None)
    init = Init(init_checkpoint, do_lower_case, tuple(allow_unmatched), from_scratch, vocabulary)
    others = other_dev_files or {}
    sources = {"the training data": train_file, "the development data": dev_file}
    sources |= {f"the data {name!r}": source for name, source in others.items()}
    with data_as_files(sources, _NAME_COLUMNS) as (train, dev, *other_paths):
        paths = LabelledPaths(train, dev, train_dir, dev_dir, dict(zip(others, other_paths, strict=True)))
        return _finetune(settled, run_dir, paths, init, devices)


def _finetune(config: FinetuningConfig, run_dir, paths: LabelledPaths, init: Init, devices: Devices):
    # Check what needs no TensorFlow.
    from kbert.runs.run_directory import require_run_folder  # late: it brings NumPy along

    require_trainable(config, paths)
    require_read_by_new_run(config.task, config.dataset, run_dir, paths)
    require_weights(config, init.for_student(config.distillation))
    if require_free_port(devices):
        require_run_folder(run_dir)
    opened = _open(config, run_dir, paths) if reads_early(config, paths) else None
    init.require_checkpoint(run_dir)

    from kbert.input_pipelines.batches import first_rows
    from kbert.input_pipelines.records.record_reader import naming_damaged_records
    from kbert.reports.run_page import try_write_run_page
    from kbert.training.devices import distribution
    from kbert.training.trainer import open_run, train

    strategy = distribution.make_strategy(devices)  # before any other use of TensorFlow
    distribution.require_whole_shares(config, strategy)

    # Open the data; then the checkpoint, which takes far longer.
    opened = opened or _open(config, run_dir, paths)
    num_train_steps = _num_train_steps(config, opened.train)
    prepared = _prepare(config, run_dir, paths, init, opened)
    data, task, vocabulary = prepared.data, prepared.task, prepared.vocabulary
    if sentence := too_few_steps(config, data.train.num_examples, num_train_steps):
        logging.warning("%s", sentence)

    # Train.
    with contextlib.ExitStack() as stack:
        run = stack.enter_context(open_run(strategy, run_dir, prepared.config, prepared.details, vocabulary))
        stack.enter_context(naming_damaged_records(*data.all))
        _tokenize(task, prepared.config, vocabulary, data)
        _log_examples(task, first_rows(data.train.rows, 2), vocabulary)
        plan = _plan(prepared.config, strategy, data, num_train_steps, prepared.set_weights)
        metrics = train(prepared.trained_task, prepared.config, plan, run, strategy)
        if metrics:
            metrics = add_baselines(task, metrics, data.dev, prepared.config, vocabulary)

    # Report.
    if distribution.is_chief(strategy):
        try_write_run_page(run.path)
    unweighted = task.get_config().get("class_weights", "") is None
    advice = what_to_try(prepared.config, num_train_steps)
    for sentence in no_better_than_constant(metrics or {}, task.higher_is_better, unweighted, advice):
        logging.warning("%s", sentence)
    logging.info("the run is in %s", run.path)
    return task, metrics


def _open(config, run_dir, paths):
    """The data; refuses what nothing reads with the labels that were found in them."""
    opened = open_data(config, paths)
    if paths.train_file:  # records may have been made when more was allowed
        require_read_by_new_run(config.task, opened.dataset, run_dir, paths)
    return opened


class _Prepared(NamedTuple):
    """All that a run starts with.

    Args:
      config: the complete config.
      data: the `FinetuningData`.
      task: the `Task`; `trained_task` is the same with a teacher's losses, or on a frozen encoder.
      vocabulary: the run's.
      set_weights: function that sets the weights of a new model, or None.
      details: for run.json.
    """

    config: FinetuningConfig
    data: FinetuningData
    task: Any
    trained_task: Any
    vocabulary: Any
    set_weights: Any
    details: dict


def _prepare(config, run_dir, paths, init, data: FinetuningData) -> _Prepared:
    """Reads the checkpoints, and checks that they go with config and data."""
    settings = TASKS[config.task].read_settings(config.task_settings)
    new_task = TASKS[config.task].from_dataset(data.dataset, settings).for_training(data.train.count_labels)
    vocabulary = init.vocabulary
    if paths.train_dir and not (init.checkpoint or vocabulary):
        vocabulary = read_vocabulary(paths.train_dir, data.train.manifest.vocabulary)
    if vocabulary:
        init.require_casing(vocabulary, paths.train_dir or "the training")
    teaching = Teaching(config, dataclasses.replace(init, vocabulary=vocabulary))
    initial = initial_model(teaching.init, run_dir, config.encoder, new_task, config.is_reinitialized)
    task = new_task.with_pooling(initial.pooling)
    complete = _complete_config(dataclasses.replace(config, dataset=data.dataset), initial)
    require_pooler(complete, task)
    teaching.check(run_dir, task, complete.encoder, initial.vocabulary, complete.max_seq_length)
    for source in data.all:
        source.check_with(task, complete.max_seq_length)
        owner = init.checkpoint or paths.train_dir or run_dir
        source.require_vocabulary(owner, initial.vocabulary.describe())
    task.check_training(complete, data.train.examples)
    details = {
        **TASKS.to_record(task),
        "max_seq_length": complete.max_seq_length,
        "train_file": shown_source(paths.train_file or paths.train_dir),
        **teaching.init.details,
        "from_scratch": not teaching.init.has_weights,
        **data.details(config),
        **teaching.details,
    }
    trained_task, trained_data = teaching.task(task), data
    if config.freeze_encoder:
        from kbert.experiments.frozen_encoder import EncodedFile, FrozenEncoder

        trained_task = FrozenEncoder(task, run_dir)
        dev = {name: EncodedFile(source, trained_task) for name, source in data.dev.items()}
        trained_data = FinetuningData(EncodedFile(data.train, trained_task), dev, data.dataset)
    set_weights = teaching.set_weights(initial)
    return _Prepared(complete, trained_data, task, trained_task, initial.vocabulary, set_weights, details)


def _complete_config(config, initial):
    """The config with the encoder to train."""
    if initial.vocabulary is None or initial.encoder is None:
        raise ValueError(
            "no weights or vocabulary to start from: give init_checkpoint, for example bert-base-uncased. "
            "Or, for random weights, give vocab_file, and an encoder in the config."
        )
    encoder = initial.encoder
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
    if len(initial.vocabulary) > encoder.vocab_size:
        raise ValueError(
            f"the vocabulary has {len(initial.vocabulary)} tokens, but the encoder's vocab_size is "
            f"{encoder.vocab_size}; use the vocabulary of the checkpoint, or a larger vocab_size."
        )
    return dataclasses.replace(config, encoder=encoder)


def _num_train_steps(config, train_data):
    """int(examples / batch size x epochs), as in google-research/bert, run_classifier.py."""
    records = train_data.manifest
    number = records.num_examples if records else train_data.num_examples
    require_one_batch(train_data.path, number, config.train_batch_size)
    number = int(train_data.num_examples / config.train_batch_size * config.num_train_epochs)
    if not number:
        raise ValueError(
            f"{train_data.num_examples} examples in batches of {config.train_batch_size} over "
            f"{config.num_train_epochs} epochs are less than one step; lower train_batch_size "
            "(train_batch_size=8) or raise num_train_epochs."
        )
    return number


def _tokenize(task, config, vocabulary, data):
    from kbert.tokenization.text_inputs import TextInputs

    text_inputs = TextInputs(vocabulary, config.max_seq_length)
    for source in data.all:
        source.tokenize_with(task, text_inputs)


def _log_examples(task, rows, vocabulary):
    """Logs decoded inputs with their labels, so that the user sees a wrong column or vocabulary at once."""
    for number in range(len(rows["input_ids"])):
        for line in task.describe({name: values[number] for name, values in rows.items()}, vocabulary):
            logging.info("%.100s", line)


def _plan(config, strategy, data, num_train_steps, set_weights):
    from kbert.input_pipelines.batches import evaluation_batches, training_batches
    from kbert.training.devices.jit import needs_whole_batches
    from kbert.training.phases import EvaluationData, Phase, Plan

    with_fill = needs_whole_batches(config, strategy)

    def train_batches(consumed, share):
        size, rows = config.train_batch_size, data.train.rows
        return training_batches(rows, size, config.seed, consumed, config.pad_to_longest, share=share)

    def evaluation(source):
        def batches(share):
            return evaluation_batches(
                source.rows, config.eval_batch_size, config.pad_to_longest, with_fill, share=share
            )

        return EvaluationData(batches, lambda: (source.examples, source.rows.owners))

    evaluations = {prefix: evaluation(source) for prefix, source in data.dev.items()}
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
        eval_every_steps=_eval_every_steps(config, data.train.num_examples) or num_train_steps,
        early_stopping_patience=config.early_stopping_patience,
        initialize=set_weights,
    )


def _eval_every_steps(config, num_train_examples):
    """Rounded up: the evaluation of the last epoch is then the one at the end, not another just before it."""
    if config.eval_every_epochs is None:
        return config.eval_every_steps
    steps = config.eval_every_epochs * num_train_examples / config.train_batch_size
    return math.ceil(round(steps, 6))  # 0.1 * 30 is a little more than 3
