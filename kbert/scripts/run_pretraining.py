r"""Script: pretraining records -> a run directory. Trains masked LM and, on pairs of texts, next sentence.

  kbert pretrain \
      --input_dir=records/train --eval_input_dir=records/heldout \
      --config=configs/pretraining/phase1_seq128.toml --run_dir=runs/phase1

The same command again resumes from the newest checkpoint. For a config with several phases, give --input_dir
once for each phase, in order, and --eval_input_dir once for each phase or once for all. --init_checkpoint
starts from a trained model: a run of kbert, a Hugging Face folder or Google's TF1 checkpoint; the records
must have been made with its vocabulary.
"""

from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, plain_metrics, print_result
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.config import Devices, PretrainingConfig, load_config
from kbert.experiments.pretraining import pretrain
from kbert.manifest import read_manifest
from kbert.reports import run_page
from kbert.scripts.training_flags import (
    Checkpoint,
    config_overrides,
    define_override_flags,
    define_teacher_flag,
)


def define_flags():
    declare_flags(pretrain, Checkpoint, repeated=("input_dir", "eval_input_dir"))
    declare_flags(Devices)
    define_override_flags()
    define_teacher_flag()
    define_json_flag()


def main():
    arguments = flag_values(pretrain) | flag_values(Devices)
    size = read_manifest(arguments["input_dir"][0]).vocabulary["size"]
    arguments["config"] = load_config(
        PretrainingConfig, arguments["config"], config_overrides(), vocab_size=size
    )
    _, metrics = pretrain(**arguments)
    print_result(metrics, plain_metrics(metrics) | run_page.result_paths(arguments["run_dir"]))


if __name__ == "__main__":
    define_flags()
    script.run(main, PretrainingConfig)
