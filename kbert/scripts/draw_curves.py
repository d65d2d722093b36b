r"""Script: the metrics of a run -> a picture of its curves.

  python -m kbert.scripts.draw_curves --run_dir=runs/phase1
  python -m kbert.scripts.draw_curves --run_dir=runs/scratch,runs/pretrained --output_file=both.png

A run that is still going on may be drawn at any time; several runs come below one another.
"""

import os
from pathlib import Path

from absl import flags

from kbert import command_line

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_list("run_dir", None, "The run to draw; several are separated by commas.")
    flags.DEFINE_string("output_file", None, "The PNG to write; by default curves.png in the run's folder.")
    flags.DEFINE_string("title", None, "Heading of the picture; by default the run's name.")
    flags.mark_flags_as_required(["run_dir"])


def main(argv):
    del argv
    folders = [Path(folder) for folder in FLAGS.run_dir]
    if len(folders) > 1 and not FLAGS.output_file:
        raise ValueError("several runs need --output_file: there is no one folder to put curves.png in.")
    output_file = Path(FLAGS.output_file or folders[0] / "curves.png")
    if output_file.suffix != ".png":
        raise ValueError(f"--output_file={output_file} should end in .png, the only kind written.")

    from kbert.reporting.curves import draw_curves

    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):  # runs/a/scratch and runs/b/scratch
        names = [str(folder) for folder in folders]
    # A row's name would only repeat the title of a single run.
    runs = dict(zip(names if len(names) > 1 else [""], folders, strict=True))
    png = draw_curves(runs, FLAGS.title or ", ".join(names))

    output_file.parent.mkdir(parents=True, exist_ok=True)
    aside = output_file.with_name(f"{output_file.name}.{os.getpid()}.tmp")
    aside.write_bytes(png)
    aside.replace(output_file)
    print(f"Curves written to {output_file}.")


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
