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

  kbert evaluate --run_dir=runs/search --corpus_file=corpus.jsonl \
      --queries_file=queries.jsonl --qrels_file=qrels/test.tsv

The last form judges a search: files of BEIR, for models of vectors and for cross-encoders (docs/search.md).

Prints a table, or with --json one line of JSON, which --output_file keeps. `baseline_accuracy` is the
accuracy of always answering the most frequent label (or masked token) of the same data: no constant
prediction can do better.
"""

import itertools
from pathlib import Path

from absl import flags

from kbert.checkpoints import formats
from kbert.cli import script
from kbert.cli.closing_output import chosen_settings, define_json_flag, plain_metrics, print_result
from kbert.cli.declared_flags import declare_flags, flag_parameters, flag_values
from kbert.experiments.evaluation import evaluate
from kbert.experiments.retrieval.evaluation import evaluate_retrieval
from kbert.files.output_path import check_output_file, require_parent_folder
from kbert.files.whole_file import write_json
from kbert.reports.text_table import text_table
from kbert.runs.metrics_file import json_ready
from kbert.scripts.training_flags import Checkpoint
from kbert.tasks.question_answering.settings import PREDICTION_FILES

FLAGS = flags.FLAGS
POSITIONS = ("run_dir", "eval_file")  # of arguments without a flag
_COLLECTION = ("corpus_file", "queries_file", "qrels_file")


def define_flags():
    declare_flags(evaluate, Checkpoint)
    shared = flag_parameters(evaluate)
    declare_flags(evaluate_retrieval, defaults=dict.fromkeys(_COLLECTION), left_out=shared)
    flags.DEFINE_string("output_file", None, "A .json file for the metrics.")
    flags.DEFINE_bool("overwrite", False, "Replace files of an earlier evaluation.")
    define_json_flag()


def main():
    _check_files_to_write()
    if _is_retrieval():
        metrics, table = evaluate_retrieval(**flag_values(evaluate_retrieval)), ""
    else:
        task, metrics = evaluate(**flag_values(evaluate))
        table = text_table(task.report(metrics))
    shown = plain_metrics(metrics) | chosen_settings(metrics, FLAGS.keep_chosen) | _written_files()
    try:
        if FLAGS.output_file:
            write_json(json_ready(metrics), FLAGS.output_file)
            shown["metrics"] = FLAGS.output_file
    finally:  # a full disk loses no metrics
        print_result(metrics, shown, table)


def _is_retrieval():
    """Whether a search is judged. Raises ValueError where flags of both kinds of evaluation are given."""
    retrieval, labelled = flag_parameters(evaluate_retrieval), flag_parameters(evaluate)
    present = [name for name in (*labelled, *retrieval) if FLAGS[name].present]
    if not set(present) & (set(retrieval) - set(labelled)):
        return False
    if missing := [name for name in _COLLECTION if not FLAGS[name].value]:
        raise ValueError(
            f"--{', --'.join(missing)} missing: a search is judged by --{', --'.join(_COLLECTION)}."
        )
    if others := [name for name in present if name not in retrieval]:
        raise ValueError(f"--{others[0]} is not read where --corpus_file is given; leave it out.")
    return True


def _written_files():
    """Where the evaluation was written, under the names of the closing table."""
    files = {"page": FLAGS.html_file, "predictions": FLAGS.predictions_dir}
    return {"run": FLAGS.run_dir} | {name: path for name, path in files.items() if path}


def _check_files_to_write():
    if FLAGS.html_file and Path(FLAGS.html_file).suffix != ".html":
        raise ValueError(f"--html_file={FLAGS.html_file} must end in .html.")
    written = [*filter(None, (FLAGS.html_file, FLAGS.output_file)), *_prediction_files()]
    for path, other in itertools.combinations(written, 2):
        if Path(path).absolute() == Path(other).absolute():
            raise ValueError(f"{path} would be written twice; give each file a name of its own.")
    files = (FLAGS.eval_file, FLAGS.input_dir, *(FLAGS[name].value for name in _COLLECTION))
    models = filter(None, (FLAGS.run_dir, FLAGS.retriever))
    read = [*filter(None, files), *itertools.chain(*map(formats.kept_files, models))]
    for path in written:
        check_output_file(path, read, FLAGS.overwrite)
    if FLAGS.output_file:
        pages = [Path(FLAGS.html_file).absolute().parent] if FLAGS.html_file else []
        require_parent_folder(FLAGS.output_file, [*pages, *filter(None, [FLAGS.predictions_dir])])
        if Path(FLAGS.output_file).suffix != ".json":
            raise ValueError(
                f"--output_file={FLAGS.output_file} must end in .json: it holds one JSON object."
            )


def _prediction_files():
    return [Path(FLAGS.predictions_dir) / name for name in PREDICTION_FILES] if FLAGS.predictions_dir else []


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
