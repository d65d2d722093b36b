r"""Benchmark: pretraining records -> training batches, compared with the speed of training BERT-mini.

  python -m benchmarks.record_reading --input_files='corpus/*.txt' --vocab_file=vocab.txt

Makes records of the text in every form (masked, masked while they are read, compressed), reads endless
training batches of each for some seconds, and trains BERT-mini on one such batch again and again. Reading
should be many times faster than training, so that training never waits for it. Without --input_files the text
is CPython's documentation; without --vocab_file the vocabulary is learned from the text.
"""

import statistics
import tempfile
import time
from pathlib import Path

from absl import flags

from benchmarks.figures import closing_line
from benchmarks.tokenization import TEXT, corpus_lines, learned_vocabulary
from kbert import command_line
from kbert.log_lines import only_progress
from kbert.manifest import read_manifest

FLAGS = flags.FLAGS

# Name -> settings of the records, and of reading them.
CONTESTANTS = {
    "static": ({}, {}),
    "static, gzip": ({"compression": "gzip"}, {}),
    "static, 4 length buckets": ({}, {"length_buckets": (32, 64, 96)}),
    "dynamic": ({"masking": "dynamic"}, {}),
    "dynamic, whole words": ({"masking": "dynamic", "do_whole_word_mask": True}, {}),
    "dynamic, spans of words": (
        {"masking": "dynamic", "do_whole_word_mask": True, "max_ngram_size": 3},
        {},
    ),
    "dynamic, gzip": ({"masking": "dynamic", "compression": "gzip"}, {}),
}
_WARM_UP_BATCHES = 20
_STEPS_TO_TIME = 5


def define_flags():
    flags.DEFINE_string("input_files", None, "Text files, a blank line between documents; globs allowed.")
    flags.DEFINE_string("vocab_file", None, "An uncased vocab.txt; by default one learned from the text.")
    flags.DEFINE_integer("batch_size", 32, "Examples of a batch.", lower_bound=1)
    flags.DEFINE_integer("max_seq_length", 128, "Length of the sequences.", lower_bound=8)
    flags.DEFINE_integer("dupe_factor", 5, "Passes over the text.", lower_bound=1)
    flags.DEFINE_float("seconds", 3.0, "How long each reading is timed.", lower_bound=0.1)
    flags.DEFINE_integer("repetitions", 3, "Timed readings of every form.", lower_bound=1)


def main(argv):
    del argv
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        input_files, vocab_file = FLAGS.input_files, FLAGS.vocab_file
        if not input_files:
            input_files = TEXT
        if not vocab_file:
            vocab_file = folder / "vocab.txt"
            learned_vocabulary(corpus_lines(str(input_files))).write(vocab_file)
        with only_progress():
            directories = make_records(folder, input_files, vocab_file)
        num_examples = read_manifest(directories["static"]).num_examples
        print(f"{num_examples:,} records of {FLAGS.max_seq_length} tokens", flush=True)
        speeds = {name: [] for name in CONTESTANTS}
        for repetition in range(FLAGS.repetitions):
            # Every other round in reverse, so that no contestant always follows the same one.
            for name in list(CONTESTANTS)[:: 1 if repetition % 2 == 0 else -1]:
                speeds[name].append(reading_speed(directories[name], CONTESTANTS[name][1]))
        step = training_speed(directories["static"])
    print(table(speeds, step))
    closing_line.close("record_reading", summary(speeds, step, num_examples))


def make_records(folder, input_files, vocab_file) -> dict[str, Path]:
    """Name of a contestant -> folder of its records; equal settings share one."""
    from tfrecords_tools.create_pretraining_data import create_pretraining_data

    made = {}
    for settings, _ in CONTESTANTS.values():
        directory = folder / ("_".join(map(str, settings.values())) or "static")
        if not directory.exists():
            create_pretraining_data(
                str(input_files),
                vocab_file,
                directory,
                max_seq_length=FLAGS.max_seq_length,
                dupe_factor=FLAGS.dupe_factor,
                **settings,
            )
        made[str(settings)] = directory
    return {name: made[str(settings)] for name, (settings, _) in CONTESTANTS.items()}


def reading_speed(directory, settings) -> tuple[float, float]:
    """Examples and tokens (without padding) per second, after the first batches."""
    from kbert.input_pipelines.records import record_reader

    manifest = read_manifest(directory)
    batches = iter(record_reader.training_batches(directory, manifest, FLAGS.batch_size, seed=1, **settings))
    for _ in range(_WARM_UP_BATCHES):
        next(batches)
    read, examples, tokens = [], 0, 0
    start = time.perf_counter()
    while time.perf_counter() - start < FLAGS.seconds:
        read.append(next(batches)["input_mask"])
    seconds = time.perf_counter() - start
    for mask in read:
        examples += len(mask)
        tokens += int(mask.numpy().sum())
    return examples / seconds, tokens / seconds


def training_speed(directory) -> float:
    """Examples per second of BERT-mini's training step, on one batch in memory."""
    import keras
    import tensorflow as tf

    from kbert.config import EncoderConfig, OptimizerConfig, from_dict
    from kbert.encoder import BertEncoder
    from kbert.input_pipelines.records import record_reader
    from kbert.runs.run_directory import trained_weights
    from kbert.tasks.pretraining import Pretraining
    from kbert.training.optimizers import make_optimizer
    from kbert.training.optimizers.schedule import LinearWarmupDecay
    from kbert.training.train_step import TrainStep

    manifest = read_manifest(directory)
    config = from_dict(EncoderConfig, {"preset": "bert_mini", "vocab_size": manifest.vocabulary["size"]})
    keras.utils.set_random_seed(1)
    task = Pretraining()
    model = task.build_model(BertEncoder(config))
    step = TrainStep(
        task,
        model,
        make_optimizer(OptimizerConfig(), trained_weights(model)),
        LinearWarmupDecay(1e-4, 1000, 10),
        tf.Variable(0, dtype=tf.int64, trainable=False),
        tf.distribute.get_strategy(),
        False,
        1,
    )
    one_batch = record_reader.training_batches(directory, manifest, FLAGS.batch_size, seed=1).take(1)
    batches = iter(one_batch.cache().repeat())
    step.run(batches, tf.constant(2))
    start = time.perf_counter()
    sums = step.run(batches, tf.constant(_STEPS_TO_TIME))
    sums["gradient_norm"][0].numpy()  # waits for the last step
    return _STEPS_TO_TIME * FLAGS.batch_size / (time.perf_counter() - start)


# ------------------------------------------------------------------------------ report


def table(speeds, step) -> str:
    """One row for every form of records."""
    rows = [
        f"{'':<28}{'records/s,':>12}{'slowest to':>20}{'tokens/s,':>14}{'times the':>12}",
        f"{'records':<28}{'median':>12}{'fastest':>20}{'median':>14}{'training':>12}",
    ]
    for name, pairs in speeds.items():
        examples, tokens = (sorted(values) for values in zip(*pairs, strict=True))
        spread = f"{examples[0]:,.0f} to {examples[-1]:,.0f}"
        median, median_tokens = statistics.median(examples), statistics.median(tokens)
        rows.append(f"{name:<28}{median:>12,.0f}{spread:>20}{median_tokens:>14,.0f}{median / step:>12,.0f}")
    rows.append(
        f"\nA training step of BERT-mini takes {step:,.1f} examples a second here, in batches of "
        f"{FLAGS.batch_size} x {FLAGS.max_seq_length}."
    )
    return "\n".join(rows)


def summary(speeds, step, num_examples) -> dict:
    """The closing JSON: medians of records and tokens per second; the slowest over the speed of training."""
    medians = {name: statistics.median(examples for examples, _ in pairs) for name, pairs in speeds.items()}
    tokens = {name: statistics.median(tokens for _, tokens in pairs) for name, pairs in speeds.items()}
    return {
        "num_records": num_examples,
        "records_per_second": {name: round(speed) for name, speed in medians.items()},
        "tokens_per_second": {name: round(speed) for name, speed in tokens.items()},
        "bert_mini_examples_per_second": round(step, 1),
        "slowest_over_training": round(min(medians.values()) / step, 1),
    }


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
