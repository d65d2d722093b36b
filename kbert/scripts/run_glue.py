r"""Script: GLUE's files + a pretrained checkpoint -> all its tasks, a table, and a submission.

  kbert glue --glue_dir=glue_data --init_checkpoint=runs/base --run_dir=runs/glue \
      --tasks=cola,mrpc,rte --seeds=1,2,3 --learning_rates=5e-5,3e-5 --submission_dir=submission

Trains each task once for every learning rate and seed, in --run_dir/TASK/lr-RATE/seed-N; the learning rate
with the best mean on dev is reported. The same command again resumes. Prints a table;
--run_dir has the same as summary.json and report.html.

Each task is trained by configs/finetuning/TASK.toml. AX gets the predictions of MNLI's model. With
--submission_dir the best run of each task predicts its test file (docs/glue.md).
"""

from pathlib import Path

from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.config import Devices, FinetuningConfig
from kbert.experiments.glue.glue_benchmark import PAGE, SUMMARY, run_glue
from kbert.reports.glue_report import glue_table
from kbert.scripts.training_flags import Checkpoint, config_overrides, define_override_flags


def define_flags():
    declare_flags(run_glue, Checkpoint)
    declare_flags(Devices)
    define_override_flags()
    define_json_flag()


def main():
    arguments = flag_values(run_glue) | flag_values(Devices)
    summary = run_glue(**arguments, overrides=config_overrides())
    folder = Path(arguments["run_dir"])
    files = {"runs": folder, "page": folder / PAGE, "the same as JSON": folder / SUMMARY}
    if arguments["submission_dir"]:
        files["submission"] = arguments["submission_dir"]
    print_result(summary, files, glue_table(summary))


if __name__ == "__main__":
    define_flags()
    script.run(main, FinetuningConfig)
