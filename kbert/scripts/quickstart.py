r"""Script: runs every stage of kbert once, on text that comes with kbert.

  kbert quickstart --output_dir=quickstart_run

Raw text -> vocabulary -> TFRecords -> pretraining -> fine-tuning -> SavedModel -> requests over the TF
Serving API -> LiteRT. The steps are the commands of configs/quickstart/from_text.sh, printed as you would
type them; the output of each is in logs/. At the end you have a table, results.json, a picture of the curves,
and one HTML page.

  kbert quickstart --output_dir=quickstart_pretrained --init_checkpoint=all-MiniLM-L6-v2 \
      --train_file=mine.csv

With an --init_checkpoint, nothing is pretrained: this encoder is fine-tuned, on the same labels or on those
of --train_file, evaluated and exported.
"""

from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.extras import require

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("output_dir", "quickstart_run", "The folder for all results.")
    flags.DEFINE_string("init_checkpoint", None, "A folder or name of an encoder to fine-tune instead.")
    flags.DEFINE_string(
        "train_file",
        None,
        "With --init_checkpoint: your labelled texts, a CSV, TSV or JSONL file with columns text and label. "
        "A fifth of them is held out.",
    )


def main():
    for extra in ("litert", "serve"):
        require(extra, "kbert quickstart")
    output_dir, train_file = Path(FLAGS.output_dir), FLAGS.train_file and Path(FLAGS.train_file)
    # Late: they bring NumPy along, which --help and a wrong flag do not need.
    if FLAGS.init_checkpoint:
        from kbert.quickstart.from_pretrained import quickstart_pretrained

        quickstart_pretrained(output_dir, FLAGS.init_checkpoint, train_file)
    elif train_file:
        raise ValueError("--train_file goes with --init_checkpoint, the encoder to fine-tune; give both.")
    else:
        from kbert.quickstart.from_text import quickstart

        quickstart(output_dir)


if __name__ == "__main__":
    define_flags()
    script.run(main)
