r"""Script: pretraining records -> a run directory, with masked LM and, on pairs of texts, next sentence.

  python -m kbert.scripts.run_pretraining \
      --input_dir=records/train --eval_input_dir=records/heldout \
      --config=configs/pretraining/phase1_seq128.toml --run_dir=runs/phase1

The same command again resumes at the newest checkpoint. A config with several phases takes --input_dir once
for each, in order, and --eval_input_dir once for each or once for all. --init_checkpoint goes on from a
published model: a run of kbert, a Hugging Face folder or a TF1 checkpoint of Google's; the records must have
been made with its vocabulary.
"""

import dataclasses
import json
from os import PathLike

from absl import flags, logging

from kbert import command_line
from kbert.config import PretrainingConfig, load_config
from kbert.input_pipelines.records.pretraining_records import PretrainingRecords
from kbert.input_pipelines.records.record_vocabulary import read_vocabulary, require_vocabulary
from kbert.manifest import read_manifest
from kbert.scripts.training_flags import (
    config_overrides,
    define_init_checkpoint_flags,
    define_records_errors_flag,
    define_training_flags,
)

FLAGS = flags.FLAGS


def define_flags():
    define_training_flags()
    define_init_checkpoint_flags()
    flags.DEFINE_multi_string(
        "input_dir", None, "Records to train on, from create_pretraining_data; once for each phase, in order."
    )
    flags.DEFINE_multi_string(
        "eval_input_dir",
        None,
        "Held-out records, evaluated during and after training; for several phases once for all or for each.",
    )
    define_records_errors_flag()
    flags.mark_flags_as_required(["input_dir"])


def run_pretraining(
    config,
    run_dir,
    input_dir,
    eval_input_dir=None,
    strategy="auto",
    num_devices=None,
    init_checkpoint=None,
    do_lower_case=None,
    allow_unmatched=(),
    records_errors="fail",
    cluster="tf_config",
    tpu=None,
):
    """Pretrains as `config` says, from the newest checkpoint in `run_dir` if there is one.

    Args:
      config: a complete `PretrainingConfig`; its encoder must have room for the vocabulary. With
        `init_checkpoint` the encoder may be None or must agree.
      run_dir: where the run lies.
      input_dir: a folder of records with a manifest, or a list of one for each phase.
      eval_input_dir: the same, or None; one folder serves all phases.
      strategy, num_devices, cluster, tpu: see `kbert.training.devices.distribution.make_strategy`.
      init_checkpoint, do_lower_case, allow_unmatched: a checkpoint to start from, see
        `kbert.checkpoints.formats.read_checkpoint`.
      records_errors: "fail" stops at a damaged record; "skip" looks for them first and goes without.

    Returns:
      The last evaluation's metrics, or None.

    Raises:
      ValueError: before any heavy work, for records that do not fit the config or each other; later, for a
        damaged record.
    """
    phase_configs = config.phase_configs
    records = [PretrainingRecords(path) for path in _once_a_phase("--input_dir", input_dir, phase_configs)]
    eval_records = [None] * len(records)
    if eval_input_dir:
        paths = [eval_input_dir] if isinstance(eval_input_dir, str | PathLike) else list(eval_input_dir)
        paths = paths * len(records) if len(paths) == 1 else paths
        paths = _once_a_phase("--eval_input_dir", paths, phase_configs)
        eval_records = [PretrainingRecords(path) for path in paths]
    if not init_checkpoint:
        _require_room(config.encoder, records)
    next_sentence = records[0].next_sentence
    for others in records[1:]:
        others.require_like(records[0])
        records[0].require_like(others)
    for held_out in filter(None, eval_records):
        held_out.require_like(records[0])
        if config.encoder is not None:
            held_out.require_room(config.encoder)
    vocabulary = read_vocabulary(records[0].directory, records[0].manifest)
    if records_errors == "skip":
        for one in [*records, *filter(None, eval_records)]:
            one.leave_out_damaged()

    # TensorFlow loads here, after everything that can be wrong without it.
    from kbert.checkpoints import model_loading
    from kbert.input_pipelines.records import record_reader
    from kbert.reporting.run_page import write_page_of_run
    from kbert.tasks.pretraining import Pretraining
    from kbert.training.devices.distribution import is_chief, make_strategy, require_whole_shares
    from kbert.training.devices.jit import needs_whole_batches
    from kbert.training.phases import Phase, Plan
    from kbert.training.trainer import open_run, train

    strategy = make_strategy(strategy, num_devices, cluster, tpu)  # before any other use of TensorFlow
    pretrained = None
    if init_checkpoint:
        config, pretrained = _start_from(
            config, init_checkpoint, do_lower_case, allow_unmatched, records[0].directory, records[0].manifest
        )
        phase_configs = config.phase_configs
        _require_room(config.encoder, records)
    for phase_config, one in zip(phase_configs, records, strict=True):
        require_whole_shares(phase_config, strategy)
        if phase_config.length_buckets and strategy.num_replicas_in_sync > 1:
            raise ValueError(
                f"length_buckets gives batches of many sizes, which {strategy.num_replicas_in_sync} replicas "
                "cannot share; leave it out, or train with --strategy=one_device."
            )
        one.require_one_batch(phase_config.train_batch_size)
    details = {
        "task": Pretraining.name,
        "max_seq_length": max(one.max_seq_length for one in records),
        "num_train_examples": sum(one.manifest.num_examples for one in records),
        "records": records[0].manifest.settings,
        "init_checkpoint": str(init_checkpoint) if init_checkpoint else None,
        "data": {"train": _fingerprints(records), "eval": _fingerprints(filter(None, eval_records))},
    }
    if len(records) > 1:
        details["records_of_phases"] = [
            {"num_train_examples": one.manifest.num_examples, "records": one.manifest.settings}
            for one in records
        ]
    if not next_sentence:  # runs from before there was a choice do not say it, and have the head
        details["next_sentence"] = False
    with open_run(strategy, run_dir, config, details, vocabulary) as run:

        def make_phase(number, phase_config, records, eval_records):
            def train_batches(consumed, share):
                # Each phase has an order and masks of its own, also on the same records.
                return records.training_batches(
                    phase_config.train_batch_size,
                    phase_config.seed + number,
                    consumed,
                    share=share,
                    length_buckets=phase_config.length_buckets,
                )

            def eval_batches(share):
                return eval_records.evaluation_batches(
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
                make_eval_batches=eval_batches if eval_records else None,
                fresh_optimizer=bool(config.phases) and config.phases[number].fresh_optimizer,
            )

        plan = Plan(
            phases=tuple(map(make_phase, range(len(records)), phase_configs, records, eval_records)),
            eval_every_steps=config.eval_every_steps,
            initialize=pretrained and (lambda model: model_loading.initialize(model, pretrained)),
        )
        sets = [(one.directory, one.manifest) for one in [*records, *filter(None, eval_records)]]
        with record_reader.naming_damaged_records(*sets):
            _log_first_examples(records[0].evaluation_batches(2), vocabulary)
            metrics = train(Pretraining(next_sentence), config, plan, run, strategy)
        if is_chief(strategy):
            write_page_of_run(run.path)
        logging.info("the run lies in %s", run.path)
        return metrics


def _once_a_phase(flag, paths, phase_configs):
    paths = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if len(paths) != len(phase_configs):
        raise ValueError(
            f"{flag} was given {len(paths)} time(s), but the config has {len(phase_configs)} phase(s); give "
            "it once for each, in order."
        )
    return paths


def _fingerprints(records):
    """What the records of every phase hold; None where some are from before their digests were kept."""
    fingerprints = [one.manifest.fingerprint for one in records]
    return None if None in fingerprints else fingerprints


def _require_room(encoder, records):
    if encoder is None:
        raise ValueError('the config names no encoder; add for example "encoder": "bert_mini".')
    for one in records:
        one.require_room(encoder)


def _start_from(config, init_checkpoint, do_lower_case, allow_unmatched, input_dir, manifest):
    """The config with the checkpoint's encoder, and the checkpoint, whose vocabulary must be the records'."""
    from kbert.checkpoints.formats import read_checkpoint
    from kbert.checkpoints.model_loading import agreed_encoder

    pretrained = read_checkpoint(init_checkpoint, do_lower_case, allow_unmatched)
    require_vocabulary(input_dir, manifest, init_checkpoint, pretrained.vocabulary.describe())
    return dataclasses.replace(config, encoder=agreed_encoder(config.encoder, pretrained)), pretrained


def _log_first_examples(batches, vocabulary):
    """Two decoded inputs with their answers, so that a wrong vocabulary is seen at once."""
    batch = next(iter(batches))
    for row in range(len(batch["input_ids"])):
        length = int(batch["input_mask"][row].numpy().sum())
        tokens = [vocabulary.tokens[i] for i in batch["input_ids"][row, :length].numpy()]
        weights = batch["masked_lm_weights"][row].numpy()
        answers = [vocabulary.tokens[i] for i in batch["masked_lm_ids"][row].numpy()[weights > 0]]
        logging.info("example: %s", " ".join(tokens))
        label = ""
        if "next_sentence_labels" in batch:
            label = f"; next_sentence_labels {int(batch['next_sentence_labels'][row, 0])}"
        logging.info("answers: %s%s", " ".join(answers), label)


def main(argv):
    del argv
    size = read_manifest(FLAGS.input_dir[0]).vocabulary["size"]
    config = load_config(PretrainingConfig, FLAGS.config, config_overrides(), vocab_size=size)
    metrics = run_pretraining(
        config,
        FLAGS.run_dir,
        FLAGS.input_dir,
        FLAGS.eval_input_dir,
        FLAGS.strategy,
        FLAGS.num_devices,
        FLAGS.init_checkpoint,
        FLAGS.do_lower_case,
        FLAGS.allow_unmatched,
        FLAGS.records_errors,
        FLAGS.cluster,
        FLAGS.tpu,
    )
    print(json.dumps(metrics))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
