r"""Script: runs every stage of kbert once, on text that is part of every Python installation.

  kbert quickstart --directory=quickstart_run

Raw text -> vocabulary -> TFRecords -> pretraining -> fine-tuning -> SavedModel -> requests over the TF
Serving API -> LiteRT. Every step is one of kbert's own commands, printed as you would type it. The output of
each step is in logs/. At the end you have a table, results.json, a picture of the curves, and one HTML page.

  kbert quickstart --directory=quickstart_pretrained --init_checkpoint=all-MiniLM-L6-v2 \
      --train_file=mine.csv

With an --init_checkpoint, nothing is pretrained: this encoder is fine-tuned, on the same labels or on those
of --train_file, evaluated and exported.
"""

from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.quickstart.from_pretrained import quickstart_pretrained
from kbert.quickstart.from_raw_text import quickstart

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("directory", "quickstart_run", "The folder for all results.")
    flags.DEFINE_string("init_checkpoint", None, "The folder of a pretrained encoder to fine-tune instead.")
    flags.DEFINE_string(
        "train_file",
        None,
        "With --init_checkpoint: your labelled texts, a CSV, TSV or JSONL file with columns text and label. "
        "A fifth of them is held out.",
    )


def main(argv):
    del argv
    if FLAGS.init_checkpoint:
        train_file = Path(FLAGS.train_file) if FLAGS.train_file else None
        quickstart_pretrained(Path(FLAGS.directory), Path(FLAGS.init_checkpoint), train_file)
        return
    if FLAGS.train_file:
        raise ValueError("--train_file goes with --init_checkpoint, the encoder to fine-tune; give both.")
    quickstart(Path(FLAGS.directory))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
