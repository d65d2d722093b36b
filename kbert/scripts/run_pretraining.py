r"""Script: pretraining records -> a run directory, with masked LM and, on pairs of texts, next sentence.

  python -m kbert.scripts.run_pretraining \
      --input_dir=records/train --eval_input_dir=records/heldout \
      --config=configs/pretraining/phase1_seq128.json --run_dir=runs/phase1

The same command again resumes at the newest checkpoint. --init_checkpoint goes on from a published model:
a run of kbert, a Hugging Face folder or a TF1 checkpoint of Google's; the records must have been made with
its vocabulary.
"""

import dataclasses
import json

from absl import flags, logging

from kbert import command_line
from kbert.config import PretrainingConfig, load_config
from kbert.input_pipelines.damaged_records import leave_out_damaged
from kbert.input_pipelines.record_vocabulary import read_vocabulary, require_vocabulary
from kbert.manifest import Manifest, read_manifest
from kbert.scripts.training_flags import (
    define_init_checkpoint_flags,
    define_records_errors_flag,
    define_training_flags,
)

FLAGS = flags.FLAGS


def define_flags():
    define_training_flags()
    define_init_checkpoint_flags()
    flags.DEFINE_string("input_dir", None, "Records to train on, from create_pretraining_data.")
    flags.DEFINE_string("eval_input_dir", None, "Held-out records, evaluated during and after training.")
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
):
    """Pretrains as `config` says, from the newest checkpoint in `run_dir` if there is one.

    Args:
      config: a complete `PretrainingConfig`; its encoder must have room for the vocabulary. With
        `init_checkpoint` the encoder may be None or must agree.
      run_dir: where the run lies.
      input_dir, eval_input_dir: folders of records with a manifest; the second may be None.
      strategy, num_devices: see kbert.training.distribution.
      init_checkpoint, do_lower_case, allow_unmatched: a checkpoint to start from, see
        `kbert.checkpoints.formats.read_checkpoint`.
      records_errors: "fail" stops at a damaged record; "skip" looks for them first and goes without.

    Returns:
      The last evaluation's metrics, or None.

    Raises:
      ValueError: before any heavy work, for records that do not fit the config or each other; later, for a
        damaged record.
    """
    manifest = _pretraining_manifest(input_dir)
    eval_manifest = _pretraining_manifest(eval_input_dir) if eval_input_dir else None
    pretrained = None
    if init_checkpoint:
        config, pretrained = _start_from(
            config, init_checkpoint, do_lower_case, allow_unmatched, input_dir, manifest
        )
    _check_lengths(config, manifest, input_dir)
    if eval_manifest:
        _check_evaluation(manifest, input_dir, eval_manifest, eval_input_dir)
    vocabulary = read_vocabulary(input_dir, manifest)
    next_sentence = "next_sentence_labels" in manifest.features
    damaged = eval_damaged = frozenset()
    if records_errors == "skip":
        manifest, damaged = leave_out_damaged(input_dir, manifest)
        if eval_manifest:
            eval_manifest, eval_damaged = leave_out_damaged(eval_input_dir, eval_manifest)

    # TensorFlow loads here, after everything that can be wrong without it.
    from kbert.checkpoints import model_loading
    from kbert.input_pipelines import record_reader
    from kbert.tasks.pretraining import Pretraining
    from kbert.training.distribution import make_strategy, require_whole_shares
    from kbert.training.run_directory import RunDirectory
    from kbert.training.trainer import Plan, train

    strategy = make_strategy(strategy, num_devices)
    require_whole_shares(config.train_batch_size, strategy)
    if config.length_buckets and strategy.num_replicas_in_sync > 1:
        raise ValueError(
            f"length_buckets gives batches of many sizes, which {strategy.num_replicas_in_sync} replicas "
            "cannot share; leave it out, or train with --strategy=one_device."
        )
    record_reader.require_one_batch(input_dir, manifest, config.train_batch_size)
    details = {
        "task": Pretraining.name,
        "max_seq_length": manifest.features["input_ids"].shape[0],
        "num_train_examples": manifest.num_examples,
        "records": manifest.settings,
        "init_checkpoint": str(init_checkpoint) if init_checkpoint else None,
    }
    if not next_sentence:  # runs from before there was a choice do not say it, and have the head
        details["next_sentence"] = False
    run = RunDirectory.create_or_resume(run_dir, config, details, vocabulary)
    plan = Plan(
        num_train_steps=config.num_train_steps,
        num_warmup_steps=config.num_warmup_steps,
        make_train_batches=lambda consumed: record_reader.training_batches(
            input_dir,
            manifest,
            config.train_batch_size,
            config.seed,
            consumed,
            length_buckets=config.length_buckets,
            damaged_shards=damaged,
        ),
        make_eval_batches=eval_manifest
        and (
            lambda: record_reader.evaluation_batches(
                eval_input_dir,
                eval_manifest,
                config.eval_batch_size,
                with_fill=config.jit_compile or strategy.num_replicas_in_sync > 1,
                max_batches=config.max_eval_steps,
                damaged_shards=eval_damaged,
            )
        ),
        eval_every_steps=config.eval_every_steps,
        initialize=pretrained and (lambda model: model_loading.initialize(model, pretrained)),
    )
    sets = [(input_dir, manifest)] + ([(eval_input_dir, eval_manifest)] if eval_manifest else [])
    with record_reader.naming_damaged_records(*sets):
        first_examples = record_reader.evaluation_batches(input_dir, manifest, 2, damaged_shards=damaged)
        _log_first_examples(first_examples, vocabulary)
        metrics = train(Pretraining(next_sentence), config, plan, run, strategy)
    logging.info("the run lies in %s", run.path)
    return metrics


def _start_from(config, init_checkpoint, do_lower_case, allow_unmatched, input_dir, manifest):
    """The config with the checkpoint's encoder, and the checkpoint, whose vocabulary must be the records'."""
    from kbert.checkpoints.formats import read_checkpoint
    from kbert.checkpoints.model_loading import agreed_encoder

    pretrained = read_checkpoint(init_checkpoint, do_lower_case, allow_unmatched)
    require_vocabulary(input_dir, manifest, init_checkpoint, pretrained.vocabulary.describe())
    return dataclasses.replace(config, encoder=agreed_encoder(config.encoder, pretrained)), pretrained


def _pretraining_manifest(directory) -> Manifest:
    manifest = read_manifest(directory)
    if manifest.kind != "pretraining":
        raise ValueError(f"{directory} holds records of kind {manifest.kind!r}, not pretraining records.")
    return manifest


def _check_evaluation(manifest, input_dir, eval_manifest, eval_input_dir):
    require_vocabulary(eval_input_dir, eval_manifest, input_dir, manifest.vocabulary)
    label = "next_sentence_labels"
    if label in manifest.features and label not in eval_manifest.features:
        raise ValueError(
            f"{eval_input_dir} holds no {label}, which {input_dir} trains; make the held-out records with "
            "the same --strategy."
        )


def _check_lengths(config, manifest, directory):
    if config.encoder is None:
        raise ValueError('the config names no encoder; add for example "encoder": "bert_mini".')
    length = manifest.features["input_ids"].shape[0]
    if length > config.encoder.max_position_embeddings:
        raise ValueError(
            f"{directory} has max_seq_length={length}, but the encoder has only "
            f"max_position_embeddings={config.encoder.max_position_embeddings}; make shorter records or a "
            "longer position table."
        )
    if manifest.vocabulary["size"] > config.encoder.vocab_size:
        raise ValueError(
            f"the records' vocabulary has {manifest.vocabulary['size']} pieces, but the encoder's vocab_size "
            f"is {config.encoder.vocab_size}: ids would fall outside its table."
        )


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
    size = read_manifest(FLAGS.input_dir).vocabulary["size"]
    config = load_config(PretrainingConfig, FLAGS.config, FLAGS.override, vocab_size=size)
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
    )
    print(json.dumps(metrics))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
