r"""Script: GLUE's files + a pretrained checkpoint -> all its tasks, a table, and a submission.

  kbert glue --glue_dir=glue_data --init_checkpoint=runs/base --run_dir=runs/glue \
      --tasks=cola,mrpc,rte --seeds=1,2,3 --learning_rates=5e-5,3e-5 --submission_dir=submission

Trains each task once for every learning rate and seed, in --run_dir/TASK/lr-RATE/seed-N; the learning rate
with the best mean on dev is reported. The same command again resumes. Prints a table;
--run_dir has the same as summary.json and report.html.

Each task is trained by configs/finetuning/TASK.toml. AX gets the predictions of MNLI's model. With
--submission_dir the best run of each task predicts its test file (docs/glue.md).
"""

import math
from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.config import FinetuningConfig
from kbert.experiments.glue.glue_benchmark import PAGE, SUMMARY, run_glue
from kbert.reports.glue_report import glue_table
from kbert.scripts.training_flags import (
    config_overrides,
    define_init_checkpoint_flags,
    define_run_flags,
    parse_seeds,
    starting_flags,
)

FLAGS = flags.FLAGS


def define_flags():
    define_run_flags()
    define_init_checkpoint_flags()
    flags.DEFINE_string("glue_dir", None, "GLUE's files: a folder for each task, such as CoLA and SST-2.")
    flags.DEFINE_list("tasks", [], "For example cola,sst2; by default all nine and AX.")
    flags.DEFINE_list("seeds", [], "For example 1,2,3; by default the seed of the task's config.")
    flags.DEFINE_list("learning_rates", [], "For example 5e-5,3e-5; by default that of the task's config.")
    flags.DEFINE_string("config_dir", "configs/finetuning", "Folder of the configs: TASK.toml.")
    flags.DEFINE_string("submission_dir", None, "Write the files for GLUE's server there.")
    define_json_flag()
    flags.mark_flags_as_required(["glue_dir", "init_checkpoint", "run_dir"])


def main():
    summary = run_glue(
        FLAGS.glue_dir,
        FLAGS.run_dir,
        FLAGS.tasks,
        [_learning_rate(value) for value in FLAGS.learning_rates],
        parse_seeds(FLAGS.seeds),
        config_overrides(),
        FLAGS.config_dir,
        FLAGS.submission_dir,
        **starting_flags(),
    )
    print_result(summary, _written_files(), glue_table(summary))


def _written_files():
    folder = Path(FLAGS.run_dir)
    files = {"runs": folder, "page": folder / PAGE, "the same as JSON": folder / SUMMARY}
    return files | ({"submission": FLAGS.submission_dir} if FLAGS.submission_dir else {})


def _learning_rate(value):
    try:
        learning_rate = float(value)
    except ValueError:
        learning_rate = math.nan
    if not 0 < learning_rate < math.inf:
        raise ValueError(
            f"--learning_rates: {value!r} is no number; expected learning rates such as 5e-5,3e-5."
        )
    return learning_rate


if __name__ == "__main__":
    define_flags()
    script.run(main, FinetuningConfig)
