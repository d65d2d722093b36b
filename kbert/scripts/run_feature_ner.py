r"""Script: CoNLL files + a checkpoint -> the BERT paper's comparison of features with fine-tuning (table 7).

  kbert feature-ner --config=configs/finetuning/conll2003_features.toml \
      --train_file=conll2003/eng.train --dev_file=conll2003/eng.testa --seeds=1,2,3,4,5 \
      --init_checkpoint=hf://google-bert/bert-base-cased --run_dir=runs/features --stored=float16

Writes the outputs of all layers of the frozen encoder once, as records in --run_dir/features, and trains a
two-layer BiLSTM on each choice of layers in --run_dir/ROW/seed-N. Started again, it goes on where it was.
--finetuned_run_dir adds the row of a fine-tuned run. Prints the table; --run_dir has the same as
summary.json and report.html (docs/feature_based_ner.md).
"""

from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.cli.closing_output import define_json_flag, print_result
from kbert.config import FinetuningConfig
from kbert.features import STORED_DTYPES
from kbert.reports.feature_table_report import feature_table
from kbert.scripts.training_flags import (
    config_overrides,
    define_init_checkpoint_flags,
    define_training_flags,
    seeds_of,
    starting_flags,
)

FLAGS = flags.FLAGS


def define_flags():
    define_training_flags()
    define_init_checkpoint_flags()
    flags.DEFINE_string("train_file", None, "The training file, CoNLL columns or JSON lines.")
    flags.DEFINE_string("dev_file", None, "The development file.")
    flags.DEFINE_list("seeds", [], "For example 1,2,3; by default that of the config.")
    flags.DEFINE_list("reads", [], "Rows, for example last,concat_last_four; by default all six.")
    flags.DEFINE_enum(
        "stored",
        "float32",
        STORED_DTYPES,
        "How numbers lie on disk. float16 and bfloat16 take half of float32, and round to 11 and 8 bits.",
    )
    flags.DEFINE_string(
        "finetuned_run_dir", None, "A fine-tuned run, or a folder of its seeds, for a row of its own."
    )
    define_json_flag()
    flags.mark_flags_as_required(["init_checkpoint", "train_file", "dev_file"])


def main():
    # TensorFlow loads here, after the flags have been checked.
    from kbert.experiments.feature_based.feature_table import (
        PAGE,
        SUMMARY,
        TablePlaces,
        TableSettings,
        run_feature_table,
    )

    # A tool of the same floor.
    from tfrecords_tools.create_layer_features import create_layer_features

    settings = TableSettings(
        FLAGS.config,
        tuple(config_overrides()),
        tuple(FLAGS.reads),
        tuple(seeds_of(FLAGS.seeds)),
        FLAGS.stored,
    )
    places = TablePlaces(
        FLAGS.train_file, FLAGS.dev_file, FLAGS.run_dir, starting_flags(), FLAGS.finetuned_run_dir
    )
    summary = run_feature_table(settings, places, create_layer_features)
    folder = Path(FLAGS.run_dir)
    places = {"runs": folder, "page": folder / PAGE, "the same as JSON": folder / SUMMARY}
    print_result(summary, places, feature_table(summary))


if __name__ == "__main__":
    define_flags()
    script.run(main, FinetuningConfig)
