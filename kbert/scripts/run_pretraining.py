r"""Script: pretraining records -> a run directory, with masked LM and next sentence.

  python -m kbert.scripts.run_pretraining \
      --input_dir=records/train --eval_input_dir=records/heldout \
      --config=configs/pretraining/phase1_seq128.json --run_dir=runs/phase1

The same command again resumes at the newest checkpoint.
"""

import json

from absl import flags, logging

from kbert import command_line
from kbert.config import PretrainingConfig, load_config
from kbert.manifest import VOCABULARY_FILE_NAME, Manifest, read_manifest
from kbert.scripts.training_flags import define_training_flags
from kbert.tokenization.vocabulary import Vocabulary

FLAGS = flags.FLAGS


def define_flags():
    define_training_flags()
    flags.DEFINE_string("input_dir", None, "Records to train on, from create_pretraining_data.")
    flags.DEFINE_string("eval_input_dir", None, "Held-out records, evaluated during and after training.")
    flags.mark_flags_as_required(["input_dir"])


def run_pretraining(config, run_dir, input_dir, eval_input_dir=None, strategy="auto", num_devices=None):
    """Pretrains as `config` says, from the newest checkpoint in `run_dir` if there is one.

    Args:
      config: a complete `PretrainingConfig`; its encoder must have room for the vocabulary.
      run_dir: where the run lies.
      input_dir, eval_input_dir: folders of records with a manifest; the second may be None.
      strategy, num_devices: see kbert.training.distribution.

    Returns:
      The last evaluation's metrics, or None.

    Raises:
      ValueError: before any heavy work, for records that do not fit the config or each other.
    """
    manifest = _pretraining_manifest(input_dir)
    eval_manifest = _pretraining_manifest(eval_input_dir) if eval_input_dir else None
    _check_lengths(config, manifest, input_dir)
    if eval_manifest and eval_manifest.vocabulary != manifest.vocabulary:
        raise ValueError(f"{eval_input_dir} was not made with the vocabulary of {input_dir}; make it again.")
    vocabulary = _vocabulary(input_dir, manifest)

    # TensorFlow loads here, after everything that can be wrong without it.
    from kbert.input_pipelines import record_reader
    from kbert.tasks.pretraining import Pretraining
    from kbert.training.distribution import make_strategy, require_whole_shares
    from kbert.training.run_directory import RunDirectory
    from kbert.training.trainer import Plan, train

    strategy = make_strategy(strategy, num_devices)
    require_whole_shares(config.train_batch_size, strategy)
    record_reader.require_one_batch(input_dir, manifest, config.train_batch_size)
    details = {
        "task": Pretraining.name,
        "max_seq_length": manifest.features["input_ids"].shape[0],
        "num_train_examples": manifest.num_examples,
        "records": manifest.settings,
    }
    run = RunDirectory.create_or_resume(run_dir, config, details, vocabulary)
    plan = Plan(
        num_train_steps=config.num_train_steps,
        num_warmup_steps=config.num_warmup_steps,
        make_train_batches=lambda consumed: record_reader.training_batches(
            input_dir, manifest, config.train_batch_size, config.seed, consumed
        ),
        make_eval_batches=eval_manifest
        and (
            lambda: record_reader.evaluation_batches(
                eval_input_dir,
                eval_manifest,
                config.eval_batch_size,
                with_fill=config.jit_compile or strategy.num_replicas_in_sync > 1,
                max_batches=config.max_eval_steps,
            )
        ),
        eval_every_steps=config.eval_every_steps,
    )
    _log_first_examples(record_reader.evaluation_batches(input_dir, manifest, 2), vocabulary)
    metrics = train(Pretraining(), config, plan, run, strategy)
    logging.info("the run lies in %s", run.path)
    return metrics


def _pretraining_manifest(directory) -> Manifest:
    manifest = read_manifest(directory)
    if manifest.kind != "pretraining":
        raise ValueError(f"{directory} holds records of kind {manifest.kind!r}, not pretraining records.")
    return manifest


def _vocabulary(directory, manifest):
    vocabulary = Vocabulary.from_file(
        f"{directory}/{VOCABULARY_FILE_NAME}", manifest.vocabulary["do_lower_case"]
    )
    if vocabulary.fingerprint != manifest.vocabulary["fingerprint"]:
        raise ValueError(
            f"{directory}/{VOCABULARY_FILE_NAME} is not the vocabulary the records were made with; make the "
            "records again."
        )
    return vocabulary


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
        logging.info(
            "answers: %s; the second text is %s",
            " ".join(answers),
            "random" if batch["next_sentence_labels"][row, 0].numpy() else "the next",
        )


def main(argv):
    del argv
    size = read_manifest(FLAGS.input_dir).vocabulary["size"]
    config = load_config(PretrainingConfig, FLAGS.config, FLAGS.override, vocab_size=size)
    metrics = run_pretraining(
        config, FLAGS.run_dir, FLAGS.input_dir, FLAGS.eval_input_dir, FLAGS.strategy, FLAGS.num_devices
    )
    print(json.dumps(metrics))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
