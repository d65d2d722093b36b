r"""Script: a model + a file with one text per line -> vectors of tokens or texts.

  kbert features --run_dir=runs/phase1 --input_file=texts.txt \
      --output_file=features.jsonl --layers=-1,-2,-3,-4
  kbert features --run_dir=runs/phase1 --input_file=texts.txt \
      --output_file=vectors.npz --format=npz --pooling=mean

" ||| " in a line separates the two texts of a pair. A .csv, .tsv or .parquet file has the columns that the
run was trained on, or `text`, and for pairs `text_pair`. The JSON lines have the format of the original
extract_features.py; docs/api.md describes the other formats.
"""

import glob
import itertools
from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.cli.progress import Progress
from kbert.config.pooling_config import POOLINGS
from kbert.files.output_path import check_output_file, require_parent_folder
from kbert.input_pipelines.unlabelled_files import texts_and_pairs
from kbert.scripts.training_flags import define_checkpoint_flag

FLAGS = flags.FLAGS
POSITIONS = ("run_dir", "input_file")  # of arguments without a flag
_LONGEST = 128  # tokens, the default of the original extract_features.py
_NUM_LAYERS = 4
_FORMATS = ["jsonl", "npz", "tfrecord"]


def define_flags():
    flags.DEFINE_string("run_dir", None, "The model: a run directory, or any checkpoint that kbert reads.")
    define_checkpoint_flag()
    flags.DEFINE_string(
        "input_file",
        None,
        "One text per line; ' ||| ' separates the two texts of a pair. It may be compressed: .gz, .bz2, "
        ".xz, .zst. Or a .csv, .tsv or .parquet file with the columns that the run was trained on, or the "
        "column text, and text_pair for pairs; or JSON lines (.jsonl, .ndjson, .jsonlines, .json) with these "
        "keys.",
    )
    flags.DEFINE_string("output_file", None, "The file to write.")
    flags.DEFINE_bool("overwrite", False, "Replace an output_file that exists.")
    flags.DEFINE_list(
        "layers",
        None,
        "Layers: 0 is the embeddings, 1 the first layer, -1 the last. By default the last four; of a model "
        "made for sentence embeddings, with its own pooling, the last.",
    )
    flags.DEFINE_enum("pooling", None, ["none", *POOLINGS],
                      "none: a vector for each token; otherwise one vector for each text. By default none; "
                      "of a model made for sentence embeddings its own, with its normalization.")  # fmt: skip
    flags.DEFINE_enum("combine", "none", ["none", "sum", "concat"], "How to combine several layers.")
    flags.DEFINE_enum(
        "format", None, _FORMATS, "The format of the output file; by default what its name ends in."
    )
    flags.DEFINE_integer(
        "max_seq_length",
        None,
        f"Longest sequence in tokens; longer ones are cut. By default {_LONGEST}, or less if the model "
        "has fewer positions.",
    )
    flags.DEFINE_integer("batch_size", 32, "Texts at a time.", lower_bound=1)
    flags.DEFINE_bool(
        "do_lower_case",
        None,
        "Lower-case texts and drop accents, if the checkpoint does not record the casing.",
    )
    flags.mark_flags_as_required(["run_dir", "input_file", "output_file"])


def extract_features(
    extractor, input_file, output_file, format="jsonl", batch_size=32, overwrite=False
) -> int:
    """Writes the features of every line of a file.

    Args:
      extractor: a `FeatureExtractor`.
      input_file: UTF-8 text, plain or compressed, with one text or pair per line. Or a file with columns,
        or JSON lines, see `texts_and_pairs`; a run's are those of its training.
      output_file: the file to write; it appears only when it is complete.
      format: "jsonl", "npz" or "tfrecord", see kbert.inference.feature_files.
      batch_size: texts at a time.
      overwrite: whether an output_file that exists may be replaced; the input_file is never replaced.

    Returns:
      The number of texts.

    Raises:
      ValueError: when the input_file is not a text file in UTF-8, or is the same file as the output_file.
      FileExistsError: when the output_file exists and `overwrite` is not set.
    """
    check_output_file(output_file, [input_file], overwrite)
    dataset = extractor.loaded.dataset
    num_texts = _count(input_file, dataset)
    from kbert.inference.feature_files import feature_file

    progress = Progress("Wrote", "texts", num_texts)
    done = 0
    with feature_file(output_file, format, extractor) as write:
        texts = texts_and_pairs(input_file, dataset)
        while batch := list(itertools.islice(texts, batch_size)):
            for features in extractor([text for text, _ in batch], [pair for _, pair in batch]):
                write(done, features)
                done += 1
            progress.report(done)
    progress.report_end(output_file)
    return done


def _count(input_file, dataset) -> int:
    """The number of texts. Reads all of them, so that an error in one is found before other work begins."""
    return sum(1 for _ in texts_and_pairs(input_file, dataset))


def default_layers(config) -> list[int]:
    """The last four layers, the last first; all of a smaller encoder."""
    return [-1 - layer for layer in range(min(_NUM_LAYERS, config.num_hidden_layers))]


def default_length(config) -> int:
    """128 tokens, or the number of positions of the encoder if that is smaller."""
    return min(_LONGEST, config.max_position_embeddings)


def _model_files(path):
    """The files that the model is read from: all in its folder, or those whose names begin with `path`."""
    path = Path(path)
    return path.rglob("*") if path.is_dir() else path.parent.glob(f"{glob.escape(path.name)}*")


def _output_format(output_file):
    """--format, or what the name ends in. Raises ValueError where they differ, or neither says it."""
    ending = Path(output_file).suffix.removeprefix(".")
    named = ending if ending in _FORMATS else None
    if not (FLAGS.format or named) or named not in (None, FLAGS.format or named):
        beside = f" and --format={FLAGS.format}" if FLAGS.format else ""
        raise ValueError(
            f"--output_file={output_file}{beside}: expected a name that ends in .jsonl, .npz or "
            ".tfrecord, and no other --format than this ending."
        )
    return FLAGS.format or named


def main():
    try:
        layers = FLAGS.layers and [int(layer) for layer in FLAGS.layers]
    except ValueError:
        raise ValueError(f"--layers={','.join(FLAGS.layers)}: expected numbers such as -1,-2.") from None
    if not Path(FLAGS.input_file).is_file():
        raise ValueError(
            f"--input_file={FLAGS.input_file} does not exist; give a file of texts, one per line."
        )
    from kbert.checkpoints.formats import local_path, require_checkpoint  # late: they bring NumPy along
    from kbert.runs.columns_of_run import recorded_dataset

    check_output_file(FLAGS.output_file, [FLAGS.input_file, *_model_files(FLAGS.run_dir)], FLAGS.overwrite)
    require_parent_folder(FLAGS.output_file)
    output_format = _output_format(FLAGS.output_file)
    require_checkpoint(FLAGS.run_dir)
    _count(FLAGS.input_file, recorded_dataset(local_path(FLAGS.run_dir)))

    # TensorFlow loads here, after all checks that do not need it.
    from kbert.inference.feature_extractor import FeatureExtractor
    from kbert.inference.loading import open_model

    model = open_model(FLAGS.run_dir, FLAGS.do_lower_case, checkpoint=FLAGS.checkpoint)
    model = model.with_max_seq_length(FLAGS.max_seq_length or default_length(model.config))
    pooling = FLAGS.pooling or "none"
    if FLAGS.pooling is None and model.own_pooling:
        pooling, layers = model.own_pooling, layers or [-1]
    layers = layers or default_layers(model.config)
    extractor = FeatureExtractor(model, layers, pooling, FLAGS.combine)
    extract_features(
        extractor, FLAGS.input_file, FLAGS.output_file, output_format, FLAGS.batch_size, FLAGS.overwrite
    )


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
