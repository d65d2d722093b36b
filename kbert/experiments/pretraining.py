"""Pretraining records (one folder for each phase) -> a run directory."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from absl import logging

from kbert.config import Devices, PretrainingConfig, settled_config
from kbert.experiments import show_lines
from kbert.experiments.init import Init, initial_model
from kbert.experiments.teaching import Teaching
from kbert.input_pipelines.data_files import require_one_batch
from kbert.input_pipelines.records.record_folders import PretrainingRecords
from kbert.manifest import read_manifest
from kbert.tasks import TASKS
from kbert.tokenization.vocabulary_files import read_vocabulary
from kbert.training.devices.rendezvous import require_free_port


def pretrain(
    config: PretrainingConfig | str | Path,
    run_dir: str | Path,
    input_dir: str | Path | Sequence[str | Path],
    eval_input_dir: str | Path | Sequence[str | Path] | None = None,
    init_checkpoint: str | Path | None = None,
    *,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] = (),
    **settings,
):
    """Pretrains on records, as `kbert pretrain` does with the flags of these names.

    A run that was stopped or killed goes on with the same call, from its newest checkpoint. Afterwards
    `kbert.load(run_dir)` is the model.

    Args:
      config: TOML file, or the config.json of a run, with model, optimizer, batches and steps. In Python also
        a `PretrainingConfig`. Its encoder must have room for the vocabulary; with an `init_checkpoint` it
        must be None or the same as the checkpoint's.
      run_dir: folder for checkpoints and metrics; a run in it is resumed.
      input_dir: records to train on, from kbert pretraining-data; one folder for each phase, in order.
      eval_input_dir: held-out records, evaluated during and after training; one folder for all phases, or one
        for each.
      init_checkpoint, do_lower_case, allow_unmatched: the checkpoint to start from, as for `kbert.load`; it
        has the vocabulary of the records.
      **settings: the fields of `Devices`, such as strategy="mirrored"; and settings of the config by name,
        such as num_train_steps=1000.

    Returns:
      (task, metrics): the `Task`, and the metrics of the last evaluation, or None without evaluation.

    Raises:
      ValueError: before any heavy work, when the records do not match each other or the config, or a setting
        is unknown; later, at a damaged record.

    Examples:
      >>> import kbert
      >>> task, metrics = kbert.pretrain(
      ...     "configs/pretraining/smoke.toml", "runs/smoke", "records/train", "records/heldout",
      ...     num_train_steps=1000)  # doctest: +SKIP
    """
    show_lines()
    if not (paths := _paths(input_dir)):
        raise ValueError("input_dir is empty; give a folder of records, or a list with one for each phase.")
    vocab_size = read_manifest(paths[0]).vocabulary["size"]
    devices, changes = Devices.taken_from(settings)
    settled = settled_config(PretrainingConfig, config, changes, vocab_size)
    phases = open_records(settled, input_dir, eval_input_dir)
    init = Init(init_checkpoint, do_lower_case, tuple(allow_unmatched))
    return _pretrain(settled, run_dir, phases, init, devices)


@dataclasses.dataclass(frozen=True)
class PhaseRecords:
    """The records of a phase: those to train on, and those to evaluate on (or None)."""

    train: PretrainingRecords
    held_out: PretrainingRecords | None


def open_records(config: PretrainingConfig, input_dir, eval_input_dir=None):
    """Opens and compares the records of all phases. Does not load TensorFlow.

    Args:
      config: the config, which defines the number of phases.
      input_dir: a folder of records with a manifest, or a list with one folder for each phase.
      eval_input_dir: the same, or None; a single folder is used for all phases.

    Returns:
      A tuple of `PhaseRecords`.

    Raises:
      ValueError: when the records do not match each other or the encoder of the config.
    """
    number = len(config.phase_configs)
    records = [PretrainingRecords(path) for path in _phase_paths("input_dir", input_dir, number)]
    held_out = [None] * number
    if eval_input_dir:
        paths = _paths(eval_input_dir)
        paths = paths * number if len(paths) == 1 else paths
        held_out = [PretrainingRecords(path) for path in _phase_paths("eval_input_dir", paths, number)]
    for others in records[1:]:
        others.require_like(records[0])
        records[0].require_like(others)
    for dataset in filter(None, held_out):
        dataset.require_like(records[0])
    opened = [*records, *filter(None, held_out)]
    for dataset in opened if config.encoder else ():
        dataset.require_room(config.encoder)
    for dataset in opened:
        dataset.check()
    return tuple(map(PhaseRecords, records, held_out))


def _pretrain(config: PretrainingConfig, run_dir, phases, init: Init, devices: Devices):
    # Check what needs no TensorFlow.
    from kbert.runs.run_directory import require_run_folder  # late: it brings NumPy along

    if config.encoder is None and not init.for_student(config.distillation).checkpoint:
        raise ValueError('the config names no encoder; add for example encoder = "bert_mini".')
    records = [phase.train for phase in phases]
    vocabulary = read_vocabulary(records[0].directory, records[0].manifest.vocabulary)
    init.require_casing(vocabulary, records[0].directory)
    if require_free_port(devices):
        require_run_folder(run_dir)
    init.require_checkpoint(run_dir)

    from kbert.input_pipelines.records.record_reader import naming_damaged_records
    from kbert.reports.run_page import try_write_run_page
    from kbert.training.devices import distribution
    from kbert.training.trainer import open_run, train

    strategy = distribution.make_strategy(devices)  # before any other use of TensorFlow
    _require_batches(config, records, strategy)  # before a checkpoint is read

    # Read the checkpoint, and check that it goes with config and records.
    task = _task(config, run_dir, records)
    teaching = Teaching(config, init)
    initial = initial_model(teaching.init, run_dir, config.encoder, task)
    if init.checkpoint:
        records[0].require_vocabulary(init.checkpoint, initial.vocabulary.describe())
    complete = dataclasses.replace(config, encoder=initial.encoder)
    teaching.check(
        run_dir, task, complete.encoder, vocabulary, max(dataset.max_seq_length for dataset in records)
    )
    opened = [dataset for phase in phases for dataset in (phase.train, phase.held_out) if dataset]
    for dataset in opened:
        dataset.require_room(complete.encoder)

    # Train.
    details = _details(task, phases) | teaching.init.details | teaching.details
    with (
        open_run(strategy, run_dir, complete, details, vocabulary) as run,
        naming_damaged_records(*opened),
    ):
        _log_examples(task, records[0], vocabulary)
        plan = _plan(complete, strategy, phases, teaching.set_weights(initial))
        metrics = train(teaching.task(task), complete, plan, run, strategy)

    # Report.
    if distribution.is_chief(strategy):
        try_write_run_page(run.path)
    logging.info("the run is in %s", run.path)
    return task, metrics


def _paths(paths):
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _phase_paths(name, paths, number):
    paths = _paths(paths)
    if len(paths) != number:
        raise ValueError(
            f"{name} was given {len(paths)} time(s), but the config has {number} phase(s); give it once for "
            "each, in order."
        )
    return paths


def _task(config, run_dir, records):
    """The task: that of the run to resume, else the config's, else the one that the records are made for."""
    from kbert.runs.run_directory import run_to_resume
    from kbert.tasks.pretraining import recorded_objective

    resume = run_to_resume(run_dir)
    if resume and config.task is None:
        return resume.task()
    own = recorded_objective(records[0].manifest)
    task_class = TASKS[TASKS.require(config.task or own)]
    if not issubclass(task_class.config_class, PretrainingConfig):
        tasks = [name for name in TASKS if issubclass(TASKS[name].config_class, PretrainingConfig)]
        raise ValueError(f"task={config.task!r} is not a pretraining task; choose one of {', '.join(tasks)}.")
    for dataset in records:
        if task_class.pairing not in (None, TASKS[recorded_objective(dataset.manifest)].pairing):
            raise ValueError(
                f"{dataset.directory} is made for the task {recorded_objective(dataset.manifest)}, but "
                f"task={task_class.name!r} needs records made with pairing={task_class.pairing}."
            )
    return task_class()


def _require_batches(config, records, strategy):
    """Refuses batches that the replicas cannot share, and those that are larger than all records."""
    from kbert.training.devices.distribution import require_whole_shares

    for phase_config, dataset in zip(config.phase_configs, records, strict=True):
        require_whole_shares(phase_config, strategy)
        require_one_batch(dataset.path, dataset.num_examples, phase_config.train_batch_size)


def _details(task, phases):
    """The content of run.json."""
    records = [phase.train for phase in phases]
    details = {
        **TASKS.to_record(task),
        "max_seq_length": max(dataset.max_seq_length for dataset in records),
        "num_train_examples": sum(dataset.manifest.num_examples for dataset in records),
        "records": records[0].manifest.settings,
        "data": {
            "train": [dataset.manifest.fingerprint for dataset in records],
            "eval": [phase.held_out.manifest.fingerprint for phase in phases if phase.held_out],
        },
    }
    if len(records) > 1:
        details["records_of_phases"] = [
            {"num_train_examples": dataset.manifest.num_examples, "records": dataset.manifest.settings}
            for dataset in records
        ]
    return details


def _log_examples(task, records, vocabulary):
    """Logs two decoded inputs with their answers, so that the user sees a wrong vocabulary at once."""
    from kbert.input_pipelines.batches import first_rows

    batch = first_rows(records.rows, 2)
    for number in range(len(batch["input_ids"])):
        for line in task.describe({name: values[number] for name, values in batch.items()}, vocabulary):
            logging.info("%.100s", line)


def _plan(config, strategy, phases, set_weights):
    from kbert.training.phases import Plan

    return Plan(
        phases=tuple(
            _phase(number, config, phase_config, phase, strategy)
            for number, (phase_config, phase) in enumerate(zip(config.phase_configs, phases, strict=True))
        ),
        eval_every_steps=config.eval_every_steps,
        initialize=set_weights,
    )


def _phase(number, config, phase_config, records, strategy):
    from kbert.input_pipelines.batches import evaluation_batches, training_batches
    from kbert.training.devices.jit import needs_whole_batches
    from kbert.training.phases import Phase

    def train_batches(consumed, share):
        # The order and the masks are different in each phase, also on the same records.
        return training_batches(
            records.train.rows,
            phase_config.train_batch_size,
            phase_config.seed + number,
            consumed,
            share=share,
        )

    def eval_batches(share):
        return evaluation_batches(
            records.held_out.rows,
            config.eval_batch_size,
            with_fill=needs_whole_batches(phase_config, strategy),
            max_batches=config.max_eval_steps,
            share=share,
        )

    return Phase(
        config=phase_config,
        num_train_steps=phase_config.num_train_steps,
        num_warmup_steps=phase_config.num_warmup_steps,
        make_train_batches=train_batches,
        make_eval_batches=eval_batches if records.held_out else None,
        fresh_optimizer=bool(config.phases) and config.phases[number].fresh_optimizer,
    )
