r"""Script: a labelled file + a pretrained run -> a classifier's run directory.

  python -m kbert.scripts.run_finetuning \
      --train_file=sst2/train.tsv --dev_file=sst2/dev.tsv \
      --config=configs/finetuning/sst2.json --init_checkpoint=runs/phase1 --run_dir=runs/sst2

Without --init_checkpoint the encoder starts from random weights: give --vocab_file, and an `encoder` in
the config.
"""

import dataclasses
import json

from absl import flags, logging

from kbert import command_line
from kbert.config import EncoderConfig, FinetuningConfig, load_config
from kbert.input_pipelines.labelled_files import labels_of, read_rows
from kbert.scripts.training_flags import define_training_flags
from kbert.tokenization.vocabulary import Vocabulary

FLAGS = flags.FLAGS


def define_flags():
    define_training_flags()
    flags.DEFINE_string("train_file", None, "Labelled TSV, CSV or JSONL file.")
    flags.DEFINE_string("dev_file", None, "The same for evaluation after training.")
    flags.DEFINE_string("init_checkpoint", None, "Run directory of a pretraining run.")
    flags.DEFINE_bool(
        "from_scratch",
        False,
        "Take vocabulary and shape of --init_checkpoint but not its weights: the control that shows what "
        "pretraining is worth.",
    )
    flags.DEFINE_string("vocab_file", None, "Vocabulary, when starting from random weights.")
    flags.DEFINE_bool("do_lower_case", True, "The casing of --vocab_file; a run knows its own.")
    flags.mark_flags_as_required(["train_file"])


def run_finetuning(
    config: FinetuningConfig,
    run_dir,
    train_file,
    dev_file=None,
    init_checkpoint=None,
    from_scratch=False,
    vocabulary: Vocabulary | None = None,
    strategy="auto",
    num_devices=None,
):
    """Fine-tunes a classifier as `config` says.

    Args:
      config: a `FinetuningConfig`. With `init_checkpoint` its encoder may be None or must agree.
      run_dir: where the run lies.
      train_file, dev_file: labelled files with the columns of `config.dataset`; the second may be None.
      init_checkpoint: path of a pretraining run, or None for random weights.
      from_scratch: take vocabulary and encoder shape of `init_checkpoint`, but not its weights.
      vocabulary: needed when there is no `init_checkpoint`.
      strategy, num_devices: see kbert.training.distribution.

    Returns:
      (task, metrics): the task, and the metrics on `dev_file` or None.

    Raises:
      ValueError: before any heavy work, for files, labels or lengths that do not fit.
    """
    rows = read_rows(train_file, config.dataset)
    dataset = dataclasses.replace(config.dataset, labels=config.dataset.labels or labels_of(rows))
    config = dataclasses.replace(config, dataset=dataset)
    dev_rows = read_rows(dev_file, dataset) if dev_file else None

    # TensorFlow loads here, after everything that can be wrong without it.
    from kbert.input_pipelines import text_reader
    from kbert.tasks.sequence_classification import LABEL_FEATURE, SequenceClassification
    from kbert.tokenization.text_inputs import TextInputs
    from kbert.training import checkpoint
    from kbert.training.distribution import make_strategy, require_whole_shares
    from kbert.training.run_directory import RunDirectory, trained_weights
    from kbert.training.trainer import Plan, train

    task = SequenceClassification(dataset.labels, dataset.positive_label)
    initialize = None
    if init_checkpoint:
        pretrained = RunDirectory(init_checkpoint)
        vocabulary = pretrained.vocabulary()
        config = dataclasses.replace(config, encoder=_agreed_encoder(config.encoder, pretrained))
        weights = pretrained.latest_checkpoint() / checkpoint.WEIGHTS_FILE

        def initialize(model):
            encoder = model.get_layer("encoder")
            checkpoint.restore(weights, trained_weights(encoder), allow_unused=True)
            logging.info("encoder from %s; the classification head starts fresh", weights)

        if from_scratch:
            initialize = None

    if vocabulary is None or config.encoder is None:
        raise ValueError(
            "nothing to start from: give --init_checkpoint=RUN_DIR, or --vocab_file and an encoder in "
            "the config."
        )
    if config.dropout_prob is not None:
        encoder = dataclasses.replace(
            config.encoder,
            hidden_dropout_prob=config.dropout_prob,
            attention_probs_dropout_prob=config.dropout_prob,
        )
        config = dataclasses.replace(config, encoder=encoder)
    if config.max_seq_length > config.encoder.max_position_embeddings:
        raise ValueError(
            f"max_seq_length={config.max_seq_length} is more than the encoder's "
            f"max_position_embeddings={config.encoder.max_position_embeddings}."
        )
    if len(vocabulary) > config.encoder.vocab_size:
        raise ValueError(
            f"the vocabulary has {len(vocabulary)} pieces, but the encoder's vocab_size is "
            f"{config.encoder.vocab_size}: ids would fall outside its table."
        )

    text_reader.require_one_batch(len(rows), config.train_batch_size)
    num_train_steps = int(len(rows) / config.train_batch_size * config.num_train_epochs)
    if not num_train_steps:
        raise ValueError(
            f"{len(rows)} examples in batches of {config.train_batch_size} over {config.num_train_epochs} "
            "epochs make no step; lower train_batch_size or raise num_train_epochs."
        )

    strategy = make_strategy(strategy, num_devices)
    require_whole_shares(config.train_batch_size, strategy)
    details = {
        "task": task.name,
        "max_seq_length": config.max_seq_length,
        "num_train_examples": len(rows),
        "train_file": str(train_file),
        "init_checkpoint": str(init_checkpoint) if init_checkpoint else None,
        "from_scratch": from_scratch or not init_checkpoint,
    }
    run = RunDirectory.create_or_resume(run_dir, config, details, vocabulary)
    text_inputs = TextInputs(vocabulary, config.max_seq_length)

    def features(rows):
        label_ids = np.asarray(task.label_ids(rows), np.int32)
        return text_reader.tokenize_rows(rows, text_inputs) | {LABEL_FEATURE: label_ids}

    import numpy as np

    train_features = features(rows)
    _log_first_examples(rows, train_features, vocabulary)
    plan = Plan(
        num_train_steps=num_train_steps,
        num_warmup_steps=int(num_train_steps * config.warmup_proportion),
        make_train_batches=lambda consumed: text_reader.training_batches(
            train_features, config.train_batch_size, config.seed, consumed, config.pad_to_longest
        ),
        make_eval_batches=dev_rows
        and (
            lambda: text_reader.evaluation_batches(
                features(dev_rows),
                config.eval_batch_size,
                config.pad_to_longest,
                with_fill=config.jit_compile or strategy.num_replicas_in_sync > 1,
            )
        ),
        eval_every_steps=num_train_steps,
        initialize=initialize,
    )
    metrics = train(task, config, plan, run, strategy)
    logging.info("the run lies in %s", run.path)
    return task, metrics


def _agreed_encoder(encoder: EncoderConfig | None, pretrained) -> EncoderConfig:
    """The pretrained run's encoder; a config that names another is refused, dropout apart."""
    theirs = pretrained.config.encoder
    if encoder is None:
        return theirs
    free = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    differing = [
        f"{name} ({getattr(encoder, name)} here, {getattr(theirs, name)} there)"
        for name in EncoderConfig.__dataclass_fields__
        if name not in free and getattr(encoder, name) != getattr(theirs, name)
    ]
    if differing:
        raise ValueError(
            f"the config's encoder is not that of --init_checkpoint={pretrained.path}: "
            f"{'; '.join(differing)}. Leave `encoder` out to take the checkpoint's."
        )
    return encoder


def _log_first_examples(rows, features, vocabulary):
    for row, ids, mask in list(zip(rows, features["input_ids"], features["input_mask"], strict=True))[:2]:
        tokens = " ".join(vocabulary.tokens[i] for i in ids[: mask.sum()])
        logging.info("example: %s -> label %s", tokens, row.label)


def main(argv):
    del argv
    vocabulary = None
    if FLAGS.vocab_file and FLAGS.init_checkpoint:
        raise ValueError("--vocab_file goes without --init_checkpoint: a run brings its own vocabulary.")
    if FLAGS.vocab_file:
        vocabulary = Vocabulary.from_file(FLAGS.vocab_file, FLAGS.do_lower_case)
    config = load_config(
        FinetuningConfig, FLAGS.config, FLAGS.override, vocab_size=len(vocabulary) if vocabulary else None
    )
    task, metrics = run_finetuning(
        config,
        FLAGS.run_dir,
        FLAGS.train_file,
        FLAGS.dev_file,
        FLAGS.init_checkpoint,
        FLAGS.from_scratch,
        vocabulary,
        FLAGS.strategy,
        FLAGS.num_devices,
    )
    if metrics:
        print(task.confusion_table(metrics["confusion"]))
    print(json.dumps(metrics))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
