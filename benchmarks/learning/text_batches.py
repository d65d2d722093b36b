"""A text as batches and first weights, the same for every contestant of loss_curve and time_to_quality."""

import dataclasses
from pathlib import Path

import numpy as np
from absl import flags

from kbert.config import EncoderConfig
from kbert.log_lines import only_progress

FLAGS = flags.FLAGS
HEAD_WIDTH = 64


def define_text_flags(hidden_size, layers, seq_length):
    """--input_files and the shape of encoder and batches, with these defaults."""
    flags.DEFINE_string(
        "input_files", None, "Text, a paragraph per line; globs. By default the text that comes with Python."
    )
    flags.DEFINE_integer("vocab_size", 8000, "WordPieces, learned from the text.", lower_bound=100)
    flags.DEFINE_integer(
        "hidden_size", hidden_size, "Width of the encoder; heads are 64 wide.", lower_bound=64
    )
    flags.DEFINE_integer("layers", layers, "Layers of the encoder.", lower_bound=1)
    flags.DEFINE_integer("batch_size", 32, "Examples of a batch.", lower_bound=1)
    flags.DEFINE_integer("seq_length", seq_length, "Tokens of an example.", lower_bound=16)
    flags.DEFINE_float("learning_rate", 1e-3, "The highest, after the warm-up.", lower_bound=0.0)
    flags.DEFINE_float("dropout", 0.1, "All dropout rates.", lower_bound=0.01, upper_bound=0.9)


def require_whole_heads():
    """Raises ValueError when the width is no multiple of a head's."""
    if FLAGS.hidden_size % HEAD_WIDTH:
        raise ValueError(f"--hidden_size={FLAGS.hidden_size} must be a multiple of 64, the width of a head.")


def prepare(folder: Path, num_batches: int, dropouts, dupe_factor: int = 1) -> dict:
    """Makes vocabulary, records, batches and first weights of the text.

    Args:
      folder: an existing folder.
      num_batches: how many batches at most; fewer where the records have fewer.
      dropouts: rates; each gets weights with its own settings.
      dupe_factor: how many times each text is masked anew.

    Returns:
      "weights": dropout -> where the weights are, and the encoder; "shared": the settings that all
      contestants have in common, without precision and schedule.
    """
    from benchmarks.tokenization import TEXT

    input_files = FLAGS.input_files or str(TEXT)
    with only_progress():
        vocabulary = learn_vocabulary(folder, input_files)
        manifest = write_records(folder, input_files, dupe_factor)
    if manifest.num_examples < num_batches * FLAGS.batch_size:
        print(f"{manifest.num_examples:,} examples: some are seen more than once", flush=True)
    encoder = encoder_config(len(vocabulary))
    settings = {
        "weights": {
            dropout: write_weights(folder / f"weights_{dropout}", encoder, dropout, vocabulary)
            for dropout in dropouts
        },
        "shared": {
            "batches": str(write_batches(folder, manifest, num_batches)),
            "optimizer": optimizer_settings(),
        },
    }
    print(
        f"{manifest.num_examples:,} examples of {FLAGS.seq_length} tokens, {len(vocabulary):,} pieces; "
        f"{encoder.num_hidden_layers} layers of {encoder.hidden_size}",
        flush=True,
    )
    return settings


def learn_vocabulary(folder: Path, input_files: str):
    """The `Vocabulary` of the text, which is written to vocab.txt as well."""
    from benchmarks.tokenization import corpus_lines, learned_vocabulary

    vocabulary = learned_vocabulary(corpus_lines(input_files), FLAGS.vocab_size)
    vocabulary.write(folder / "vocab.txt")
    return vocabulary


def write_records(folder: Path, input_files: str, dupe_factor: int):
    """Makes the records of the text by vocab.txt; returns their manifest."""
    from kbert.manifest import read_manifest
    from tfrecords_tools.create_pretraining_data import create_pretraining_data

    create_pretraining_data(
        input_files,
        folder / "vocab.txt",
        folder / "records",
        max_seq_length=FLAGS.seq_length,
        max_predictions_per_seq=predictions(),
        dupe_factor=dupe_factor,
    )
    return read_manifest(folder / "records")


def write_batches(folder: Path, manifest, num_batches: int) -> Path:
    """The batches in their order: name -> array [steps, batch, ...], as an .npz file."""
    from kbert.input_pipelines.records import record_reader

    read = record_reader.training_batches(folder / "records", manifest, FLAGS.batch_size, seed=1)
    batches = list(read.take(num_batches).as_numpy_iterator())
    path = folder / "batches.npz"
    np.savez(path, **{name: np.stack([b[name] for b in batches]) for name in batches[0]})
    return path


def write_weights(folder: Path, encoder: EncoderConfig, dropout: float, vocabulary) -> dict:
    """The same first weights for all systems; returns where they are, and the encoder with its dropout."""
    from benchmarks.workers import starting_point

    folder.mkdir()
    with_dropout = dataclasses.replace(
        encoder, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    written = starting_point.write_weights(folder, with_dropout, vocabulary, keras_hub=False)
    return written | {"encoder": dataclasses.asdict(with_dropout)}


def optimizer_settings() -> dict:
    return {
        "learning_rate": FLAGS.learning_rate,
        "weight_decay": 0.01,
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-6,
        "global_clipnorm": 1.0,
    }


def predictions() -> int:
    """15 % of the tokens, as in the original's example: 20 of 128."""
    return round(0.15 * FLAGS.seq_length)


def encoder_config(vocab_size) -> EncoderConfig:
    hidden = FLAGS.hidden_size
    return EncoderConfig(
        vocab_size=vocab_size,
        hidden_size=hidden,
        num_hidden_layers=FLAGS.layers,
        num_attention_heads=hidden // HEAD_WIDTH,
        intermediate_size=4 * hidden,
        max_position_embeddings=FLAGS.seq_length,
    )
