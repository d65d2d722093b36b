r"""Script: the metrics of one or several runs -> a page or a picture of their curves.

  kbert curves --run_dir=runs/phase1
  kbert curves --run_dir=runs/scratch --run_dir=runs/pretrained \
      --output_file=both.html

You can also draw a run that is still training. The page (.html) shows losses, scores, learning rate, gradient
norm and speed by step, the results and the settings, all in one file without scripts; several runs are drawn
into the same pictures. A picture (.png) shows only losses, scores and learning rate.

Without --output_file, curves.html in the run's folder is replaced, as the run does itself. A file that you
name and that exists is replaced only with --overwrite.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.files.output_path import check_output_file
from kbert.files.whole_file import whole_file
from kbert.reports import run_charts, run_page
from kbert.reports.run_metrics import READ_FILES


def write_curves(
    run_dir: Sequence[str | Path], output_file: str | Path | None = None, overwrite: bool = False
):
    """Writes the curves of one or several runs.

    Args:
      run_dir: the run to draw; several runs are compared.
      output_file: the .html or .png to write; by default curves.html in the run's folder.
      overwrite: replace an `output_file` that exists.
    """
    folders = [Path(folder) for folder in run_dir]
    if len(folders) > 1 and not output_file:
        raise ValueError("several runs need --output_file: curves.html cannot be in the folders of all runs.")

    path = Path(output_file or folders[0] / run_page.PAGE_FILE)
    if path.suffix not in (".html", ".png"):
        raise ValueError(f"--output_file={path} must end in .html or .png.")
    names = [os.path.basename(os.path.abspath(folder)) for folder in folders]  # of a link its own
    if len(set(names)) < len(names):  # runs/a/scratch and runs/b/scratch
        names = [str(folder) for folder in folders]
    if len(set(names)) < len(names):
        raise ValueError(f"--run_dir names {max(names, key=names.count)} twice; name each run once.")
    read = [folder / name for folder in folders for name in READ_FILES]
    check_output_file(path, read, overwrite or not output_file)
    runs, title = dict(zip(names, folders, strict=True)), ", ".join(names)
    if path.suffix == ".html":
        run_page.write_run_page(runs, path, title)
    else:
        png = run_charts.draw_curves(runs, title)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as aside:
            aside.write_bytes(png)
    print(f"Curves written to {path}.")


def define_flags():
    declare_flags(write_curves, repeated=("run_dir",))


def main():
    write_curves(**flag_values(write_curves))


if __name__ == "__main__":
    define_flags()
    script.run(main)
