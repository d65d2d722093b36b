r"""Script: the whole road on the text that every Python brings along.

  python -m kbert.scripts.quickstart --directory=quickstart_run

Raw text -> vocabulary -> TFRecords -> pretraining -> fine-tuning -> SavedModel -> requests over the TF
Serving API -> LiteRT. Every step is one of kbert's own commands, printed as you would type it; what it
says lies in logs/. At the end: a table, results.json, a picture of the curves, and one HTML page.
"""

from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.quickstart.walk import quickstart

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("directory", "quickstart_run", "Where everything is written.")


def main(argv):
    del argv
    quickstart(Path(FLAGS.directory))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
