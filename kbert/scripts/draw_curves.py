r"""Script: the metrics of one or several runs -> a page or a picture of their curves.

  kbert curves --run_dir=runs/phase1
  kbert curves --run_dir=runs/scratch --run_dir=runs/pretrained \
      --output_file=both.html

You can also draw a run that is still training. The page (.html) shows losses, scores, learning rate, gradient
norm and speed by step, the results and the settings, all in one file without scripts; several runs are drawn
into the same pictures. A picture (.png) shows only losses, scores and learning rate.

curves.html in the folder of a run is always replaced, as the run does itself. Any other file that exists is
replaced only with --overwrite.
"""

from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.files.output_path import check_output_file
from kbert.files.whole_file import whole_file

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_multi_string("run_dir", None, "The run to draw; give it several times to compare runs.")
    flags.DEFINE_string(
        "output_file", None, "The .html or .png to write; by default curves.html in the run's folder."
    )
    flags.DEFINE_bool("overwrite", False, "Replace an output_file that exists.")
    flags.mark_flags_as_required(["run_dir"])


def main():
    folders = [Path(folder) for flag in FLAGS.run_dir for folder in flag.split(",")]
    if len(folders) > 1 and not FLAGS.output_file:
        raise ValueError("several runs need --output_file: curves.html cannot be in the folders of all runs.")

    from kbert.reports.run_metrics import READ_FILES
    from kbert.reports.run_page import PAGE_FILE, write_run_page

    output_file = Path(FLAGS.output_file or folders[0] / PAGE_FILE)
    if output_file.suffix not in (".html", ".png"):
        raise ValueError(f"--output_file={output_file} must end in .html or .png.")
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):  # runs/a/scratch and runs/b/scratch
        names = [str(folder) for folder in folders]
    if len(set(names)) < len(names):
        raise ValueError(f"--run_dir names {max(names, key=names.count)} twice; name each run once.")
    read = [folder / name for folder in folders for name in READ_FILES]
    check_output_file(output_file, read, FLAGS.overwrite or not FLAGS.output_file)
    runs, title = dict(zip(names, folders, strict=True)), ", ".join(names)
    if output_file.suffix == ".html":
        write_run_page(runs, output_file, title)
    else:
        from kbert.reports.run_charts import draw_curves

        png = draw_curves(runs, title)
        output_file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(output_file) as aside:
            aside.write_bytes(png)
    print(f"Curves written to {output_file}.")


if __name__ == "__main__":
    define_flags()
    script.run(main)
