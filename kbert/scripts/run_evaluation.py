r"""Script: a run directory + held-out data -> metrics, beside the plainest guess.

  python -m kbert.scripts.run_evaluation --run_dir=runs/sst2 --eval_file=sst2/dev.tsv
  python -m kbert.scripts.run_evaluation --run_dir=runs/sst2 --input_dir=records/sst2_dev
  python -m kbert.scripts.run_evaluation --run_dir=runs/phase1 --input_dir=records/heldout

Prints one JSON line. `baseline_accuracy` is what always answering the most frequent label (or masked
token) of these very data would score: the best that a constant answer can do.
"""

import json
import math

from absl import flags

from kbert import command_line
from kbert.input_pipelines.labelled_files import read_rows
from kbert.input_pipelines.records.labelled_records import LabelledRecords
from kbert.input_pipelines.records.pretraining_records import PretrainingRecords
from kbert.scripts.training_flags import define_checkpoint_flag, define_records_errors_flag

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("run_dir", None, "The run to evaluate.")
    flags.DEFINE_string("eval_file", None, "Labelled file, for a classification run.")
    flags.DEFINE_string("input_dir", None, "Records, for a run of either kind.")
    define_records_errors_flag()
    define_checkpoint_flag()
    flags.DEFINE_integer("batch_size", 64, "Examples at a time.", lower_bound=1)
    flags.mark_flags_as_required(["run_dir"])


def evaluate_classification(run, eval_file, batch_size=64, checkpoint=None):
    """(task, metrics) of a classification run on a labelled file; `checkpoint` as in `RunDirectory`."""
    rows = read_rows(eval_file, run.config.dataset)

    from kbert.input_pipelines import text_reader
    from kbert.tokenization.text_inputs import TextInputs

    features = run.task().rows_to_features(rows, TextInputs(run.vocabulary(), run.config.max_seq_length))
    return _evaluate_labelled(
        run,
        lambda: text_reader.evaluation_batches(features, batch_size, run.config.pad_to_longest),
        checkpoint,
    )


def evaluate_labelled_records(run, input_dir, batch_size=64, records_errors="fail", checkpoint=None):
    """(task, metrics) of a classification run on records of labelled texts; damaged ones as in training."""
    records = LabelledRecords(input_dir, run.details["task"], run.config.max_seq_length, records_errors)
    records.agreed_dataset(run.config.dataset)
    records.require_vocabulary(run.path, run.details["vocabulary"])
    with records.naming_damaged_records():
        return _evaluate_labelled(
            run, lambda: records.evaluation_batches(batch_size, run.config.pad_to_longest), checkpoint
        )


def _evaluate_labelled(run, make_batches, checkpoint):
    import numpy as np

    from kbert.inference.finite_numbers import load_run_model
    from kbert.tasks.sequence_classification import LABEL_FEATURE

    task, model = load_run_model(run, checkpoint)
    metrics = _evaluate(run, task, model, make_batches())
    counts = np.zeros(len(task.labels), np.int64)
    for batch in make_batches():
        counts += np.bincount(batch[LABEL_FEATURE].numpy(), minlength=len(task.labels))
    return task, metrics | {
        "baseline_accuracy": float(counts.max() / counts.sum()),
        "num_examples": int(counts.sum()),
    }


def evaluate_pretraining(run, input_dir, batch_size=64, records_errors="fail", checkpoint=None):
    """(task, metrics) of a pretraining run on a folder of records; damaged ones as in run_pretraining."""
    records = PretrainingRecords(input_dir)
    records.require_vocabulary(run.path, run.details["vocabulary"])
    if run.task().next_sentence and not records.next_sentence:
        raise ValueError(
            f"{input_dir} holds no next_sentence_labels, which {run.path} was trained on; make the records "
            "with --strategy=sentence_pairs or sentence_order."
        )
    records.require_room(run.config.encoder)
    if records_errors == "skip":
        records.leave_out_damaged()

    import numpy as np

    from kbert.inference.finite_numbers import load_run_model

    task, model = load_run_model(run, checkpoint)
    batches = records.evaluation_batches(batch_size)
    counts = np.zeros(run.config.encoder.vocab_size)
    with records.naming_damaged_records():
        metrics = _evaluate(run, task, model, batches)
        for batch in batches:
            np.add.at(counts, batch["masked_lm_ids"].numpy(), batch["masked_lm_weights"].numpy())
    return task, metrics | {
        "baseline_accuracy": float(counts.max() / counts.sum()),
        "baseline_token": run.vocabulary().tokens[int(counts.argmax())],
        "num_examples": records.manifest.num_examples,
    }


def _evaluate(run, task, model, batches):
    import tensorflow as tf

    from kbert.training.evaluation_step import EvaluationStep, evaluate_batches

    step = EvaluationStep(task, model, tf.distribute.get_strategy())
    metrics = evaluate_batches(task, step, batches)
    for name, value in metrics.items():
        if not isinstance(value, list) and not math.isfinite(value):
            raise ValueError(
                f"{run.path}: {name} is {value}, no finite number: the weights are damaged or far too large; "
                "take another checkpoint."
            )
    return metrics


def main(argv):
    del argv
    if bool(FLAGS.eval_file) == bool(FLAGS.input_dir):
        raise ValueError("give either --eval_file (a classification run) or --input_dir (records).")
    from kbert.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.run_dir)
    is_pretraining = run.details["task"] == "pretraining"
    if not is_pretraining and run.details["task"] != "sequence_classification":
        raise ValueError(
            f"{run.path} is a {run.details['task']} run; this script evaluates pretraining and "
            "sequence_classification runs."
        )
    if FLAGS.eval_file and is_pretraining:
        raise ValueError(f"{run.path} is a pretraining run, but --eval_file is for classification runs.")
    if is_pretraining:
        _, metrics = evaluate_pretraining(
            run, FLAGS.input_dir, FLAGS.batch_size, FLAGS.records_errors, FLAGS.checkpoint
        )
    else:
        if FLAGS.input_dir:
            task, metrics = evaluate_labelled_records(
                run, FLAGS.input_dir, FLAGS.batch_size, FLAGS.records_errors, FLAGS.checkpoint
            )
        else:
            task, metrics = evaluate_classification(run, FLAGS.eval_file, FLAGS.batch_size, FLAGS.checkpoint)
        print(task.confusion_table(metrics["confusion"]))
    print(json.dumps(metrics, allow_nan=False))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
