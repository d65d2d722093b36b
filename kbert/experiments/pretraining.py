"""Pretraining records (one folder for each phase) -> a run directory."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from kbert.checkpoints.report import unmatched_patterns
from kbert.checks import with_checked_arguments
from kbert.config import Devices, PretrainingConfig, config_with_settings
from kbert.experiments import pretraining_run, show_lines
from kbert.experiments.init import Init, require_place
from kbert.input_pipelines.records.record_folders import PretrainingRecords
from kbert.manifest import read_manifest
from kbert.runs import run_directory
from kbert.tokenization.vocabulary_files import read_vocabulary


@with_checked_arguments
def pretrain(
    config: PretrainingConfig | str | Path,
    run_dir: str | Path,
    input_dir: str | Path | Sequence[str | Path],
    eval_input_dir: str | Path | Sequence[str | Path] | None = None,
    init_checkpoint: str | Path | None = None,
    *,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
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
    settled = config_with_settings(PretrainingConfig, config, changes, vocab_size)
    settled.require_settings_read()
    phases = open_records(settled, input_dir, eval_input_dir)
    init = Init(init_checkpoint, do_lower_case, unmatched_patterns(allow_unmatched))
    has_encoder = settled.encoder or init.for_student(settled.distillation).checkpoint
    # A run says what is given otherwise than before.
    if not has_encoder and not run_directory.run_to_resume(run_dir):
        raise ValueError(
            "the config names no encoder: give init_checkpoint, for example bert-base-uncased, or for random "
            'weights an encoder in the config, such as encoder = "bert_mini".'
        )
    records = phases[0].train
    vocabulary = read_vocabulary(records.directory, records.manifest.vocabulary)
    init.require_casing(vocabulary, records.directory)
    init.require_weights(settled)
    require_place(run_dir, devices)
    init.require_checkpoint(run_dir, settled.distillation)
    return pretraining_run.run_pretraining(settled, run_dir, phases, vocabulary, init, devices)


@dataclasses.dataclass(frozen=True)
class PhaseRecords:
    """The records of a phase: those to train on, and those to evaluate on (or None)."""

    train: PretrainingRecords
    held_out: PretrainingRecords | None


def open_records(config: PretrainingConfig, input_dir, eval_input_dir):
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
    opened = [*records, *filter(None, held_out)]
    for dataset in opened[1:]:
        dataset.require_vocabulary(records[0].directory, records[0].manifest.vocabulary)
    for dataset in opened if config.encoder else ():
        dataset.require_room(config.encoder)
    for dataset in opened:
        dataset.check()
    return tuple(map(PhaseRecords, records, held_out))


def _paths(paths):
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _phase_paths(name, paths, number):
    paths = _paths(paths)
    if len(paths) != number:
        raise ValueError(
            f"{name} was given {len(paths)} time(s), but the config has {number} phase(s); give it once for "
            "each, in order. Several corpora of one phase are one folder: kbert pretraining-data "
            "--input_files='wiki/*,books/*'."
        )
    return paths
