r"""Script: a labelled file + a pretrained checkpoint -> a classifier's run directory.

  python -m kbert.scripts.run_finetuning \
      --train_file=sst2/train.tsv --dev_file=sst2/dev.tsv \
      --config=configs/finetuning/sst2.toml --init_checkpoint=runs/phase1 --run_dir=runs/sst2

--seeds=1,2,3 trains once for each and gives mean and deviation of every metric.

--init_checkpoint takes a run of kbert, a Hugging Face folder or a TF1 checkpoint of Google's, found from
its content; a head that fits is taken too. Without it the encoder starts from random weights: give
--vocab_file, and an `encoder` in the config.

Records of tfrecords_tools.create_finetuning_data may stand in the place of the files: --train_dir and
--dev_dir. They bring their vocabulary.
"""

import contextlib
import dataclasses
import functools
import json
from pathlib import Path

from absl import flags, logging

from kbert import command_line
from kbert.config import FINETUNING_TASKS, FinetuningConfig, load_config
from kbert.input_pipelines.labelled_files import fingerprint_of, labels_of, read_rows
from kbert.input_pipelines.records.labelled_records import LabelledRecords
from kbert.input_pipelines.records.record_vocabulary import read_vocabulary
from kbert.manifest import read_manifest
from kbert.reporting.seed_summary import seed_table, summarize_seeds, write_summary
from kbert.scripts.training_flags import (
    config_overrides,
    define_init_checkpoint_flags,
    define_records_errors_flag,
    define_training_flags,
)
from kbert.tokenization.vocabulary import Vocabulary

FLAGS = flags.FLAGS


def define_flags():
    define_training_flags()
    flags.DEFINE_string("train_file", None, "Labelled TSV, CSV or JSONL file.")
    flags.DEFINE_string("dev_file", None, "The same for evaluation after training.")
    flags.DEFINE_string("train_dir", None, "Instead of --train_file: records of create_finetuning_data.")
    flags.DEFINE_string("dev_dir", None, "Instead of --dev_file: records of create_finetuning_data.")
    define_records_errors_flag()
    define_init_checkpoint_flags()
    flags.DEFINE_bool(
        "from_scratch",
        False,
        "Take vocabulary and shape of --init_checkpoint but not its weights: the control that shows what "
        "pretraining is worth.",
    )
    flags.DEFINE_string("vocab_file", None, "Vocabulary, when starting from random weights.")
    flags.DEFINE_list(
        "seeds",
        [],
        "Train once for each of these, for example 1,2,3, in --run_dir/seed-N; mean and deviation of every "
        "metric are printed and written to --run_dir/summary.json.",
    )


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
    records_errors="fail",
    cluster="tf_config",
    tpu=None,
):
    """Fine-tunes a classifier as `config` says.

    Args:
      config: a `FinetuningConfig`. With `init_checkpoint` its encoder may be None or must agree.
      run_dir: where the run lies.
      train_file, dev_file: labelled files with the columns of `config.dataset`; the second may be None.
      init_checkpoint: path of a checkpoint, see `kbert.checkpoints.formats.read_checkpoint`, or None for
        random weights.
      from_scratch: take vocabulary and encoder shape of `init_checkpoint`, but not its weights.
      vocabulary: needed when there is neither `init_checkpoint` nor `train_dir`.
      strategy, num_devices, cluster, tpu: see `kbert.training.devices.distribution.make_strategy`.
      do_lower_case, allow_unmatched: see `read_checkpoint`.
      train_dir, dev_dir: records in the place of the files; they bring labels and vocabulary.
      records_errors: "fail" stops at a damaged record; "skip" looks for them first and goes without.

    Returns:
      (task, metrics): the task, and the metrics on the development data or None.

    Raises:
      ValueError: before any heavy work, for files, labels or lengths that do not fit.
    """
    if config.task not in FINETUNING_TASKS:
        raise ValueError(
            f"task={config.task!r} cannot be trained here; choose {', '.join(FINETUNING_TASKS)}."
        )
    if bool(train_file) == bool(train_dir):
        raise ValueError("give either --train_file or --train_dir, the records of create_finetuning_data.")
    if dev_file and dev_dir:
        raise ValueError("give either --dev_file or --dev_dir, not both.")
    if config.early_stopping_patience and not (dev_file or dev_dir):
        raise ValueError(
            f"early_stopping_patience={config.early_stopping_patience} needs data to evaluate on: give "
            "--dev_file or --dev_dir."
        )
    train_records, dev_records = (
        LabelledRecords(directory, config.task, config.max_seq_length, records_errors) if directory else None
        for directory in (train_dir, dev_dir)
    )
    if train_records:
        rows, num_train_examples = None, train_records.num_examples
        dataset = train_records.agreed_dataset(config.dataset)
        if not init_checkpoint and vocabulary is None:
            vocabulary = read_vocabulary(train_dir, train_records.manifest)
    else:
        rows = read_rows(train_file, config.dataset)
        dataset = dataclasses.replace(config.dataset, labels=config.dataset.labels or labels_of(rows))
        num_train_examples = len(rows)
    config = dataclasses.replace(config, dataset=dataset)
    dev_rows = read_rows(dev_file, dataset) if dev_file else None
    if dev_records:
        dev_records.agreed_dataset(dataset)

    # TensorFlow loads here, after everything that can be wrong without it.
    from kbert.checkpoints import model_loading
    from kbert.checkpoints.formats import read_checkpoint
    from kbert.input_pipelines import text_reader
    from kbert.input_pipelines.records import record_reader
    from kbert.reporting.run_page import write_page_of_run
    from kbert.tasks.sequence_classification import LABEL_FEATURE, SequenceClassification
    from kbert.tokenization.text_inputs import TextInputs
    from kbert.training.devices.distribution import is_chief, make_strategy, require_whole_shares
    from kbert.training.devices.jit import needs_whole_batches
    from kbert.training.phases import Phase, Plan
    from kbert.training.trainer import open_run, train

    strategy = make_strategy(strategy, num_devices, cluster, tpu)  # before any other use of TensorFlow
    task = SequenceClassification(dataset.labels, dataset.positive_label)
    initialize = None
    if init_checkpoint:
        pretrained = read_checkpoint(init_checkpoint, do_lower_case, allow_unmatched)
        vocabulary = pretrained.vocabulary
        encoder = model_loading.agreed_encoder(config.encoder, pretrained)
        config = dataclasses.replace(config, encoder=encoder)

        def initialize(model):
            model_loading.initialize(model, pretrained, task.labels)

        if from_scratch:
            initialize = None

    if vocabulary is None or config.encoder is None:
        raise ValueError(
            "nothing to start from: give --init_checkpoint, or --vocab_file and an encoder in the config."
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

    for records in filter(None, (train_records, dev_records)):
        records.require_vocabulary(init_checkpoint or train_dir or run_dir, vocabulary.describe())
    if train_records:
        record_reader.require_one_batch(train_dir, train_records.manifest, config.train_batch_size)
    else:
        text_reader.require_one_batch(num_train_examples, config.train_batch_size)
    num_train_steps = int(num_train_examples / config.train_batch_size * config.num_train_epochs)
    if not num_train_steps:
        raise ValueError(
            f"{num_train_examples} examples in batches of {config.train_batch_size} over "
            f"{config.num_train_epochs} epochs make no step; lower train_batch_size or raise "
            "num_train_epochs."
        )

    require_whole_shares(config, strategy)
    details = {
        "task": task.name,
        "max_seq_length": config.max_seq_length,
        "num_train_examples": num_train_examples,
        "train_file": str(train_file or train_dir),
        "init_checkpoint": str(init_checkpoint) if init_checkpoint else None,
        "from_scratch": from_scratch or not init_checkpoint,
        "data": {"train": _fingerprint(train_records, rows), "eval": _fingerprint(dev_records, dev_rows)},
    }
    with open_run(strategy, run_dir, config, details, vocabulary) as run:
        text_inputs = TextInputs(vocabulary, config.max_seq_length)
        if train_records:
            training_batches = train_records.training_batches
            with train_records.naming_damaged_records():
                first_examples = next(train_records.evaluation_batches(2, False).as_numpy_iterator())
        else:
            train_features = task.rows_to_features(rows, text_inputs)
            training_batches = functools.partial(text_reader.training_batches, train_features)
            first_examples = {name: values[:2] for name, values in train_features.items()}
        _log_examples(first_examples, first_examples[LABEL_FEATURE], dataset.labels, vocabulary)

        @functools.cache
        def dev_features():
            return task.rows_to_features(dev_rows, text_inputs)

        def dev_batches(share):
            arguments = (config.eval_batch_size, config.pad_to_longest)
            with_fill = needs_whole_batches(config, strategy)
            if dev_records:
                return dev_records.evaluation_batches(*arguments, with_fill=with_fill, share=share)
            return text_reader.evaluation_batches(
                dev_features(), *arguments, with_fill=with_fill, share=share
            )

        phase = Phase(
            config=config,
            num_train_steps=num_train_steps,
            num_warmup_steps=int(num_train_steps * config.warmup_proportion),
            make_train_batches=lambda consumed, share: training_batches(
                config.train_batch_size, config.seed, consumed, config.pad_to_longest, share=share
            ),
            make_eval_batches=dev_batches if dev_rows or dev_records else None,
        )
        plan = Plan(
            phases=(phase,),
            eval_every_steps=_eval_every_steps(config, num_train_examples) or num_train_steps,
            early_stopping_patience=config.early_stopping_patience,
            initialize=initialize,
        )
        with contextlib.ExitStack() as stack:
            for records in filter(None, (train_records, dev_records)):
                stack.enter_context(records.naming_damaged_records())
            metrics = train(task, config, plan, run, strategy)
        if is_chief(strategy):
            write_page_of_run(run.path)
        logging.info("the run lies in %s", run.path)
        return task, metrics


def _fingerprint(records, rows):
    """What the examples of records or of a file are; None without any, and for records from before."""
    if records:
        return records.manifest.fingerprint
    return None if rows is None else fingerprint_of(rows)


def run_seeds(config: FinetuningConfig, run_dir, seeds, **arguments):
    """Fine-tunes once for each seed, in `run_dir/seed-N`; finished ones are not trained again.

    Args:
      config: as of `run_finetuning`; its own seed is not used.
      run_dir: a folder for the runs and, when all are done, summary.json.
      seeds: whole numbers, each once.
      arguments: as of `run_finetuning`; there must be data to evaluate on.

    Returns:
      What summary.json holds, see `summarize_seeds`.

    Raises:
      ValueError: as `run_finetuning` does.
    """
    run_dir, seeds = Path(run_dir), list(seeds)
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"--seeds={','.join(map(str, seeds))} names a seed twice; each gives one run.")
    if not (arguments.get("dev_file") or arguments.get("dev_dir")):
        raise ValueError("--seeds compares metrics: give --dev_file or --dev_dir.")
    if arguments.get("strategy") == "multi_worker":
        raise ValueError(
            "--seeds trains one run after the other, but --strategy=multi_worker only one a process."
        )
    if (run_dir / "run.json").is_file():
        raise ValueError(f"--run_dir={run_dir} holds a single run; choose a new folder for several seeds.")
    configs = [dataclasses.replace(config, seed=seed) for seed in seeds]  # refuses impossible ones at once
    metrics = {}
    for number, seeded in enumerate(configs, start=1):
        logging.info("seed %d, run %d of %d", seeded.seed, number, len(seeds))
        _, metrics[seeded.seed] = run_finetuning(seeded, run_dir / f"seed-{seeded.seed}", **arguments)
    summary = summarize_seeds(metrics)
    write_summary(run_dir, summary)
    return summary


def _eval_every_steps(config, num_train_examples):
    if config.eval_every_epochs is None:
        return config.eval_every_steps
    return max(1, round(config.eval_every_epochs * num_train_examples / config.train_batch_size))


def _log_examples(features, label_ids, labels, vocabulary):
    for ids, mask, label in zip(features["input_ids"], features["input_mask"], label_ids, strict=True):
        tokens = " ".join(vocabulary.tokens[i] for i in ids[: mask.sum()])
        logging.info("example: %s -> label %s", tokens, labels[label])


def main(argv):
    del argv
    vocabulary = None
    if FLAGS.vocab_file and FLAGS.init_checkpoint:
        raise ValueError(
            "--vocab_file goes without --init_checkpoint: a checkpoint brings its own vocabulary."
        )
    if FLAGS.vocab_file and FLAGS.train_dir:
        raise ValueError("--vocab_file goes without --train_dir: records bring their own vocabulary.")
    if FLAGS.vocab_file:
        vocabulary = Vocabulary.from_file(FLAGS.vocab_file, FLAGS.do_lower_case is not False)
    elif FLAGS.train_dir and not FLAGS.init_checkpoint:
        vocabulary = read_vocabulary(FLAGS.train_dir, read_manifest(FLAGS.train_dir))
    config = load_config(
        FinetuningConfig, FLAGS.config, config_overrides(), vocab_size=len(vocabulary) if vocabulary else None
    )
    arguments = {
        "vocabulary": vocabulary,
        **{
            name: FLAGS[name].value
            for name in (
                "train_file",
                "dev_file",
                "train_dir",
                "dev_dir",
                "init_checkpoint",
                "from_scratch",
                "do_lower_case",
                "allow_unmatched",
                "records_errors",
                "strategy",
                "num_devices",
                "cluster",
                "tpu",
            )
        },
    }
    if FLAGS.seeds:
        if not all(seed.strip().isdigit() for seed in FLAGS.seeds):
            raise ValueError(f"--seeds={','.join(FLAGS.seeds)}: expected whole numbers such as 1,2,3.")
        summary = run_seeds(config, FLAGS.run_dir, map(int, FLAGS.seeds), **arguments)
        print(seed_table(summary))
        print(json.dumps(summary["metrics"]))
        return
    task, metrics = run_finetuning(config, FLAGS.run_dir, **arguments)
    if metrics:
        print(task.confusion_table(metrics["confusion"]))
    print(json.dumps(metrics))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
