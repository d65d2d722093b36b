r"""Script: runs every stage of kbert once, on text that is part of every Python installation.

  python -m kbert.scripts.quickstart --directory=quickstart_run

Raw text -> vocabulary -> TFRecords -> pretraining -> fine-tuning -> SavedModel -> requests over the TF
Serving API -> LiteRT. Every step is one of kbert's own commands, printed as you would type it. The output of
each step is in logs/. At the end you have a table, results.json, a picture of the curves, and one HTML page.
"""

from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.quickstart.walk import quickstart

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("directory", "quickstart_run", "The folder for all results.")


def main(argv):
    del argv
    quickstart(Path(FLAGS.directory))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
