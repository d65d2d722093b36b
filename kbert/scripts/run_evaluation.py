r"""Script: a model + held-out data -> metrics, beside those of the best constant prediction.

  kbert evaluate --run_dir=runs/sst2 --eval_file=sst2/dev.tsv
  kbert evaluate --run_dir=runs/sst2 --input_dir=records/sst2_dev
  kbert evaluate --run_dir=runs/phase1 --input_dir=records/heldout
  kbert evaluate --run_dir=runs/reviews --eval_file=reviews.tsv --split=dev
  kbert evaluate --run_dir=runs/squad_v2 --eval_file=squad_v2/dev-v2.0.json \
      --predictions_dir=runs/squad_v2/dev --keep_chosen

  kbert evaluate --run_dir=runs/sst2 --eval_file=sst2/dev.tsv \
      --html_file=sst2_dev.html
  kbert evaluate --run_dir=hf://org/name --eval_file=sst2/dev.tsv \
      --config=configs/finetuning/sst2.toml

Prints a table, or with --json one line of JSON, which --output_file keeps. `baseline_accuracy` is the
accuracy of always answering the most frequent label (or masked token) of the same data: no constant
prediction can do better.
"""

from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.cli.closing_output import chosen_settings, define_json_flag, plain_metrics, print_result
from kbert.config import FinetuningConfig, load_config
from kbert.experiments.evaluation import MOST_EXAMPLES, evaluate
from kbert.files.output_path import check_output_file, require_parent_folder
from kbert.files.whole_file import write_json
from kbert.reports.text_table import text_table
from kbert.runs.metrics_file import json_ready
from kbert.scripts.training_flags import define_checkpoint_flag

FLAGS = flags.FLAGS
POSITIONS = ("run_dir", "eval_file")  # of arguments without a flag


def define_flags():
    flags.DEFINE_string("run_dir", None, "The model: a run directory, or any checkpoint with its head.")
    flags.DEFINE_string(
        "config",
        None,
        "For a checkpoint of another library: a fine-tuning config of its task. Its [dataset] names the "
        "columns of --eval_file, and its task_settings and max_seq_length are used. Without it, the columns "
        "are text, text_pair and label, the settings are the defaults, and the length is the checkpoint's.",
    )
    flags.DEFINE_bool(
        "do_lower_case",
        None,
        "Lower-case texts and drop accents, if the checkpoint does not record the casing.",
    )
    flags.DEFINE_string("eval_file", None, "Labelled file, for a fine-tuned model.")
    flags.DEFINE_string("input_dir", None, "Folder of records, for a pretraining or a fine-tuned run.")
    define_checkpoint_flag()
    flags.DEFINE_string(
        "predictions_dir",
        None,
        "Folder for the predictions on --eval_file, in the files of the task. Question answering writes "
        "predictions.json, nbest_predictions.json and null_odds.json.",
    )
    flags.DEFINE_bool(
        "keep_chosen",
        False,
        "Keep the temperature and the thresholds that are best for --eval_file with the run: all its later "
        "predictions use them.",
    )
    flags.DEFINE_enum(
        "split",
        "all",
        ["all", "dev"],
        "dev: --eval_file is the training file; only the examples that dev_split held out are taken.",
    )
    flags.DEFINE_string(
        "html_file",
        None,
        "A page to write, one file without scripts: scores, calibration, scores by length, the most "
        "confident errors with their texts, learning curves.",
    )
    flags.DEFINE_integer(
        "html_examples",
        MOST_EXAMPLES,
        "The largest number of examples on the page of --html_file.",
        lower_bound=0,
    )
    flags.DEFINE_string("output_file", None, "A .json file for the metrics.")
    flags.DEFINE_bool("overwrite", False, "Replace an html_file or output_file that exists.")
    define_json_flag()
    flags.DEFINE_integer("batch_size", 64, "Examples at a time.", lower_bound=1)
    flags.mark_flags_as_required(["run_dir"])


def main():
    _check_files_to_write()
    config = load_config(FinetuningConfig, FLAGS.config) if FLAGS.config else None
    names = (
        "run_dir",
        "eval_file",
        "input_dir",
        "batch_size",
        "checkpoint",
        "predictions_dir",
        "keep_chosen",
        "split",
        "html_file",
        "html_examples",
        "do_lower_case",
    )
    task, metrics = evaluate(**{name: FLAGS[name].value for name in names}, config=config)
    if FLAGS.output_file:
        write_json(json_ready(metrics), FLAGS.output_file)
    shown = plain_metrics(metrics) | chosen_settings(metrics, FLAGS.keep_chosen) | _written_files()
    print_result(metrics, shown, text_table(task.report(metrics)))


def _written_files():
    """Where the evaluation was written, under the names of the closing table."""
    files = {"page": FLAGS.html_file, "predictions": FLAGS.predictions_dir, "metrics": FLAGS.output_file}
    return {"run": FLAGS.run_dir} | {name: path for name, path in files.items() if path}


def _check_files_to_write():
    from kbert.reports.run_metrics import READ_FILES

    if FLAGS.html_file and Path(FLAGS.html_file).suffix != ".html":
        raise ValueError(f"--html_file={FLAGS.html_file} must end in .html.")
    if FLAGS.output_file and FLAGS.output_file == FLAGS.html_file:
        raise ValueError(f"--output_file and --html_file are both {FLAGS.output_file}; give two names.")
    own = [Path(FLAGS.run_dir) / name for name in READ_FILES]
    read = [*filter(None, (FLAGS.eval_file, FLAGS.input_dir)), *own]
    for path in filter(None, (FLAGS.html_file, FLAGS.output_file)):
        check_output_file(path, read, FLAGS.overwrite)
    if FLAGS.output_file:
        pages = [Path(FLAGS.html_file).absolute().parent] if FLAGS.html_file else []
        require_parent_folder(FLAGS.output_file, [*pages, *filter(None, [FLAGS.predictions_dir])])
        if Path(FLAGS.output_file).suffix != ".json":
            raise ValueError(
                f"--output_file={FLAGS.output_file} must end in .json: it holds one JSON object."
            )


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
