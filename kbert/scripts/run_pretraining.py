r"""Script: pretraining records -> a run directory. Trains masked LM and, on pairs of texts, next sentence.

  kbert pretrain \
      --input_dir=records/train --eval_input_dir=records/heldout \
      --config=configs/pretraining/phase1_seq128.toml --run_dir=runs/phase1

The same command again resumes from the newest checkpoint. For a config with several phases, give --input_dir
once for each phase, in order, and --eval_input_dir once for each phase or once for all. --init_checkpoint
starts from a trained model: a run of kbert, a Hugging Face folder or Google's TF1 checkpoint; the records
must have been made with its vocabulary.
"""

from absl import flags

from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, plain_metrics, print_result
from kbert.config import PretrainingConfig, load_config
from kbert.manifest import read_manifest
from kbert.scripts.training_flags import (
    config_overrides,
    define_init_checkpoint_flags,
    define_teacher_flag,
    define_training_flags,
    starting_flags,
)

FLAGS = flags.FLAGS


def define_flags():
    define_training_flags()
    define_init_checkpoint_flags()
    define_teacher_flag()
    flags.DEFINE_multi_string(
        "input_dir", None, "Records to train on, from kbert pretraining-data; once for each phase, in order."
    )
    flags.DEFINE_multi_string(
        "eval_input_dir",
        None,
        "Held-out records, evaluated during and after training; once for all phases, or once for each.",
    )
    define_json_flag()
    flags.mark_flags_as_required(["input_dir"])


def main():
    from kbert.experiments.pretraining import pretrain  # late: it brings NumPy along

    size = read_manifest(FLAGS.input_dir[0]).vocabulary["size"]
    config = load_config(PretrainingConfig, FLAGS.config, config_overrides(), vocab_size=size)
    _, metrics = pretrain(config, FLAGS.run_dir, FLAGS.input_dir, FLAGS.eval_input_dir, **starting_flags())
    from kbert.reports.run_page import result_paths  # loads NumPy

    print_result(metrics, plain_metrics(metrics) | result_paths(FLAGS.run_dir))


if __name__ == "__main__":
    define_flags()
    script.run(main, PretrainingConfig)
