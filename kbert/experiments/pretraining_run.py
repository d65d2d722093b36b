"""The part of a pretraining that needs TensorFlow: `pretrain` has checked before what needs none."""

import dataclasses
import itertools

from absl import logging

from kbert.checkpoints.conversion.untrained_rows import warn_of_positions
from kbert.config import Devices, PretrainingConfig
from kbert.experiments.evaluation_data import warn_of_training_data
from kbert.experiments.init import Init
from kbert.experiments.start import Start
from kbert.experiments.trained_run import log_examples, log_unread_settings, trained_run
from kbert.files.json_values import shown
from kbert.input_pipelines.data_files import require_one_batch
from kbert.input_pipelines.records.dynamic_masks import masking_settings
from kbert.input_pipelines.records.record_folders import warn_of_trained_records
from kbert.input_pipelines.source_rows import make_rows
from kbert.runs.run_directory import run_to_resume
from kbert.tasks import TASKS
from kbert.tasks.pretraining.objectives import recorded_objective, require_pairing
from kbert.training.devices import distribution
from kbert.training.phases import EvaluationData, Phase, Plan
from kbert.training.trainer import train


def run_pretraining(config: PretrainingConfig, run_dir, phases, vocabulary, init: Init, devices: Devices):
    """Trains, or goes on.

    Args:
      config, run_dir, init: what `pretrain` was given.
      phases: a `PhaseRecords` for each phase.
      vocabulary: that of the records.
      devices: see `make_strategy`.

    Returns:
      (task, metrics), as `pretrain` does.
    """
    strategy = distribution.make_strategy(devices)  # before any other use of TensorFlow
    records = [phase.train for phase in phases]
    _require_batches(config, phases, strategy)  # before a checkpoint is read

    # Read the checkpoint, and check that it goes with config and records.
    task = _task(config, run_dir, records)
    opened = [dataset for phase in phases for dataset in (phase.train, phase.held_out) if dataset]
    for dataset in opened:
        require_pairing(task, dataset)
    start = Start(config, init, run_dir, task)
    if init.checkpoint:
        records[0].require_vocabulary(init.checkpoint, start.vocabulary.describe())
    config = dataclasses.replace(config, encoder=start.encoder)
    longest = max(dataset.max_seq_length for dataset in records)
    start.check_teacher(task, config.encoder, vocabulary, longest)
    for dataset in opened:
        dataset.require_room(config.encoder)

    if not run_to_resume(run_dir):
        _warn_of_vectors(init.checkpoint, start.pooling)
        _warn_of_positions(init.checkpoint or run_dir, config.encoder, start, phases)
    if not any(phase.held_out for phase in phases):
        log_unread_settings(config, "eval_input_dir")
    for held_out in {phase.held_out.path: phase.held_out for phase in phases if phase.held_out}.values():
        warn_of_trained_records(held_out, records)
        warn_of_training_data(start.runs, held_out)

    # Train.
    longest = itertools.accumulate((dataset.longest for dataset in records), max)
    trained = [start.trained_positions_after(length) for length in longest]
    details = _details(task, phases) | start.details
    details["trained_positions"] = trained if len(trained) > 1 else trained[0]  # at the end of each phase
    with trained_run(strategy, run_dir, config, details, vocabulary, opened) as run:
        log_examples(task, make_rows(records[0]), vocabulary)
        _log_passes(config, records)
        plan = Plan(_phases(config, phases), config.eval_every_steps, initialize=start.set_weights)
        metrics = train(start.taught(task), config, plan, run, strategy)
    return task, metrics


def _task(config, run_dir, records):
    """The task: that of the run to resume, else the config's, else the one that the records are made for."""
    resume = run_to_resume(run_dir)
    if resume and config.task is None:
        return resume.task()
    own = recorded_objective(records[0].manifest)
    task_class = TASKS[TASKS.require(config.task or own.name)]
    if not issubclass(task_class.config_class, PretrainingConfig):
        tasks = [name for name in TASKS if issubclass(TASKS[name].config_class, PretrainingConfig)]
        raise ValueError(f"task={config.task!r} is not a pretraining task; choose one of {', '.join(tasks)}.")
    for dataset in records[1:]:
        if config.task is None and recorded_objective(dataset.manifest) is not own:
            raise ValueError(
                f"{dataset.directory} is made for the task {recorded_objective(dataset.manifest).name}, but "
                f"{records[0].directory} for {own.name}; make both with the same pairing, or name the task."
            )
    return task_class()


def _require_batches(config, phases, strategy):
    """Refuses batches that the replicas cannot share, and those that are larger than all records."""
    for phase_config, phase in zip(config.phase_configs, phases, strict=True):
        distribution.require_whole_shares(phase_config, strategy, is_evaluated=bool(phase.held_out))
        require_one_batch(phase.train.path, phase.train.num_examples, phase_config.train_batch_size)


def _warn_of_vectors(source, pooling):
    """Warns where a checkpoint makes vectors of texts in its own way, which a pretraining does not record."""
    if source and pooling and pooling.changes:
        logging.warning(
            "%s says how vectors of texts are made: %s. This run keeps none of it: its vectors are the mean "
            "of all tokens, without prompts (see docs/pretrain_your_own.md, Continued pretraining).",
            source, shown(pooling.changes),
        )  # fmt: skip


def _warn_of_positions(source, encoder, start, phases):
    """Warns where a phase trains or evaluates on positions that no text has trained until its end."""
    longest = 0
    for phase in phases:
        longest = max(longest, phase.train.longest)
        lengths = [dataset.longest for dataset in (phase.train, phase.held_out) if dataset]
        warn_of_positions(source, encoder, start.trained_positions_after(longest), max(lengths))


def _log_passes(config, records):
    """Logs how often each phase reads its records, where steps end it and not the time."""
    if config.optimizer.train_minutes:
        return
    for own, dataset in zip(config.phase_configs, records, strict=True):
        steps, number = own.num_train_steps, dataset.num_examples
        times, copies = steps * own.train_batch_size / number, dataset.manifest.settings.get("dupe_factor", 1)
        logging.info(
            "%d steps read each of the %d examples of %s %.3g times, the text of its corpus %.3g times",
            steps, number, dataset.path, times, times * copies,
        )  # fmt: skip


def _details(task, phases):
    """The content of run.json."""
    records = [phase.train for phase in phases]
    held_out = [phase.held_out.manifest for phase in phases if phase.held_out]
    details = {
        **TASKS.to_record(task),
        "max_seq_length": max(dataset.max_seq_length for dataset in records),
        "num_train_examples": sum(
            {dataset.manifest.fingerprint: dataset.num_examples for dataset in records}.values()
        ),
        "records": records[0].manifest.settings,
        "data": {
            "train": [dataset.manifest.fingerprint for dataset in records],
            "eval": [manifest.fingerprint for manifest in held_out]
            + [*filter(None, map(masking_settings, held_out))],
        },
    }
    if len(records) > 1:
        details["records_of_phases"] = [
            {"num_train_examples": dataset.manifest.num_examples, "records": dataset.manifest.settings}
            for dataset in records
        ]
    return details


def _phases(config, phases):
    """The phases with their settings and rows."""
    changes = config.phases or (None,)
    return tuple(
        Phase(
            own,
            own.num_train_steps,
            own.num_warmup_steps,
            rows=make_rows(records.train),
            evaluations={"": EvaluationData(make_rows(records.held_out))} if records.held_out else {},
            fresh_optimizer=bool(change and change.fresh_optimizer),
        )
        for own, change, records in zip(config.phase_configs, changes, phases, strict=True)
    )
