r"""Script: a run directory + held-out data -> metrics, beside the plainest guess.

  python -m kbert.scripts.run_evaluation --run_dir=runs/sst2 --eval_file=sst2/dev.tsv
  python -m kbert.scripts.run_evaluation --run_dir=runs/phase1 --input_dir=records/heldout

Prints one JSON line. `baseline_accuracy` is what always answering the most frequent label (or masked
token) of these very data would score: the best that a constant answer can do.
"""

import json

from absl import flags

from kbert import command_line
from kbert.input_pipelines.labelled_files import read_rows
from kbert.manifest import read_manifest

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("run_dir", None, "The run to evaluate.")
    flags.DEFINE_string("eval_file", None, "Labelled file, for a classification run.")
    flags.DEFINE_string("input_dir", None, "Records, for a pretraining run.")
    flags.DEFINE_integer("batch_size", 64, "Examples at a time.", lower_bound=1)
    flags.mark_flags_as_required(["run_dir"])


def evaluate_classification(run, eval_file, batch_size=64):
    """(task, metrics) of a classification run on a labelled file."""
    rows = read_rows(eval_file, run.config.dataset)

    import numpy as np

    from kbert.input_pipelines import text_reader
    from kbert.tasks.sequence_classification import LABEL_FEATURE
    from kbert.tokenization.text_inputs import TextInputs

    task, model = run.load_model()
    label_ids = np.asarray(task.label_ids(rows), np.int32)
    inputs = text_reader.tokenize_rows(rows, TextInputs(run.vocabulary(), run.config.max_seq_length))
    batches = text_reader.evaluation_batches(
        inputs | {LABEL_FEATURE: label_ids}, batch_size, run.config.pad_to_longest
    )
    metrics = _evaluate(task, model, batches)
    return task, metrics | {
        "baseline_accuracy": float(np.bincount(label_ids).max() / len(rows)),
        "num_examples": len(rows),
    }


def evaluate_pretraining(run, input_dir, batch_size=64):
    """(task, metrics) of a pretraining run on a folder of records."""
    manifest = read_manifest(input_dir)
    if manifest.vocabulary["fingerprint"] != run.details["vocabulary"]["fingerprint"]:
        raise ValueError(f"{input_dir} was made with another vocabulary than {run.path} was trained with.")
    (length,) = manifest.features["input_ids"].shape
    if length > run.config.encoder.max_position_embeddings:
        raise ValueError(
            f"{input_dir} has max_seq_length={length}, but the encoder of {run.path} has only "
            f"max_position_embeddings={run.config.encoder.max_position_embeddings}; make shorter records."
        )

    import numpy as np

    from kbert.input_pipelines import record_reader

    task, model = run.load_model()
    metrics = _evaluate(task, model, record_reader.evaluation_batches(input_dir, manifest, batch_size))
    counts = np.zeros(run.config.encoder.vocab_size)
    for batch in record_reader.evaluation_batches(input_dir, manifest, batch_size):
        np.add.at(counts, batch["masked_lm_ids"].numpy(), batch["masked_lm_weights"].numpy())
    return task, metrics | {
        "baseline_accuracy": float(counts.max() / counts.sum()),
        "baseline_token": run.vocabulary().tokens[int(counts.argmax())],
        "num_examples": manifest.num_examples,
    }


def _evaluate(task, model, batches):
    import tensorflow as tf

    from kbert.training.train_step import EvaluationStep
    from kbert.training.trainer import evaluate_batches

    return evaluate_batches(task, EvaluationStep(task, model, tf.distribute.get_strategy()), batches)


def main(argv):
    del argv
    if bool(FLAGS.eval_file) == bool(FLAGS.input_dir):
        raise ValueError("give either --eval_file (a classification run) or --input_dir (a pretraining run).")
    from kbert.training.run_directory import RunDirectory

    run = RunDirectory(FLAGS.run_dir)
    expected = "pretraining" if FLAGS.input_dir else "sequence_classification"
    if run.details["task"] != expected:
        raise ValueError(f"{run.path} is a {run.details['task']} run, but the data given are for {expected}.")
    if FLAGS.input_dir:
        _, metrics = evaluate_pretraining(run, FLAGS.input_dir, FLAGS.batch_size)
    else:
        task, metrics = evaluate_classification(run, FLAGS.eval_file, FLAGS.batch_size)
        print(task.confusion_table(metrics["confusion"]))
    print(json.dumps(metrics))


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
