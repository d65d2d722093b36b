r"""Script: a model + a file of texts, one a line -> vectors of tokens or texts.

  python -m kbert.scripts.extract_features --run_dir=runs/phase1 --input_file=texts.txt \
      --output_file=features.jsonl --layers=-1,-2,-3,-4
  python -m kbert.scripts.extract_features --run_dir=runs/phase1 --input_file=texts.txt \
      --output_file=vectors.npz --format=npz --pooling=mean

" ||| " in a line stands between the two texts of a pair. The JSON lines are those of the original
extract_features.py; docs/api.md tells what the other files hold.
"""

import itertools
import os
import re
import time
from pathlib import Path

from absl import flags, logging

from kbert import command_line
from kbert.checkpoints.formats import detect_format
from kbert.checkpoints.sentence_transformers import is_sentence_transformers

FLAGS = flags.FLAGS
_SECONDS_BETWEEN_LINES = 5.0
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")  # extract_features.py, `read_examples`: the last one splits


def define_flags():
    flags.DEFINE_string("run_dir", None, "The model: a run directory, or any checkpoint that kbert reads.")
    flags.DEFINE_string("input_file", None, "Texts, one a line; ' ||| ' between the two texts of a pair.")
    flags.DEFINE_string("output_file", None, "The file to write.")
    flags.DEFINE_list("layers", ["-1", "-2", "-3", "-4"], "Layers; -1 is the last, 0 the embeddings.")
    flags.DEFINE_enum("pooling", "none", ["none", "cls", "mean", "max", "mean_sqrt_len"],
                      "none: a vector for each token; else one for each text.")  # fmt: skip
    flags.DEFINE_enum("combine", "none", ["none", "sum", "concat"], "What becomes of several layers.")
    flags.DEFINE_enum("format", "jsonl", ["jsonl", "npz", "tfrecord"], "The kind of file.")
    flags.DEFINE_integer("max_seq_length", 128, "Longest sequence in tokens; longer ones are cut.")
    flags.DEFINE_integer("batch_size", 32, "Texts at once.", lower_bound=1)
    flags.DEFINE_bool("do_lower_case", None, "The casing, for a checkpoint that does not say it.")
    flags.mark_flags_as_required(["run_dir", "input_file", "output_file"])


def extract_features(extractor, input_file, output_file, format="jsonl", batch_size=32) -> int:
    """Writes the features of every line of a file.

    Args:
      extractor: a `FeatureExtractor`.
      input_file: UTF-8 text, one text or pair a line; an empty line is a text too.
      output_file: the file to write; it appears when it is complete.
      format: "jsonl", "npz" or "tfrecord", see kbert.inference.feature_files.
      batch_size: texts at once.

    Returns:
      How many texts there were.
    """
    from kbert.inference.feature_files import feature_file

    size, start = os.path.getsize(input_file), time.monotonic()
    done, last = 0, start
    # Bytes that are not UTF-8 are dropped, as in the original (tokenization.py, `convert_to_unicode`).
    with (
        open(input_file, encoding="utf-8", errors="ignore", newline="\n") as lines,
        feature_file(output_file, format, extractor) as write,
    ):
        texts, read = map(_text_and_pair, lines), 0
        while batch := list(itertools.islice(texts, batch_size)):
            for features in extractor([text for text, _, _ in batch], [pair for _, pair, _ in batch]):
                write(done, features)
                done += 1
            read += sum(length for _, _, length in batch)
            now = time.monotonic()
            if now - last >= _SECONDS_BETWEEN_LINES:
                last, seconds = now, now - start
                logging.info(
                    "%s texts, %.1f a second, %d %%, about %.0f s left",
                    f"{done:,}", done / seconds, 100 * read // size, seconds * (size - read) / read,
                )  # fmt: skip
    logging.info("%s texts in %.1f s -> %s", f"{done:,}", time.monotonic() - start, output_file)
    return done


def _text_and_pair(line):
    """(text, second text or None, bytes of the line)."""
    text = line.strip()
    pair = _PAIR.match(text)
    return (*(pair.groups() if pair else (text, None)), len(line.encode("utf-8")))


def main(argv):
    del argv
    try:
        layers = [int(layer) for layer in FLAGS.layers]
    except ValueError:
        raise ValueError(f"--layers={','.join(FLAGS.layers)}: expected numbers such as -1,-2.") from None
    if not Path(FLAGS.input_file).is_file():
        raise ValueError(f"--input_file={FLAGS.input_file} does not exist; give a file of texts, one a line.")
    if not Path(FLAGS.output_file).absolute().parent.is_dir():
        raise ValueError(f"--output_file={FLAGS.output_file}: its folder does not exist; make it first.")
    if not is_sentence_transformers(FLAGS.run_dir):
        detect_format(FLAGS.run_dir)  # refuses a path without a model

    # TensorFlow loads here, after everything that can be wrong without it.
    from kbert.inference.feature_extractor import FeatureExtractor
    from kbert.inference.loaded_model import load

    model = load(FLAGS.run_dir, FLAGS.do_lower_case).with_max_seq_length(FLAGS.max_seq_length)
    extractor = FeatureExtractor(model, layers, FLAGS.pooling, FLAGS.combine)
    extract_features(extractor, FLAGS.input_file, FLAGS.output_file, FLAGS.format, FLAGS.batch_size)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
