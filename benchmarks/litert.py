r"""Benchmark: one row of token ids in, probabilities out: kbert's LiteRT files beside ONNX Runtime.

  make bench-peers
  python -m benchmarks.litert --init_checkpoint=runs/sst2 --config=configs/finetuning/sst2.toml \
      --eval_file=SST-2/dev.tsv

The same classifier in every file, the same rows for all: of each length full rows, made of the texts of
--eval_file, and then every row of that file by itself. Each contestant is a process of its own with as many
threads, and answers some rows while the others wait.

  litert/float32, /float16, /dynamic_int8   what export_tflite writes, one file with all lengths: a row goes
                                            to the shortest that has room, with padding.
  onnx_runtime/float32                      the graph after ONNX Runtime's own optimizer for BERT, any length.
  onnx_runtime/int8                         the graph quantized by its `quantize_dynamic`.

The table has medians in milliseconds, the accuracy on --eval_file, how many answers are those of Keras, and
what a file weighs.
"""

import tempfile
from pathlib import Path

import numpy as np
from absl import flags

from benchmarks.answers import differences, median_milliseconds
from benchmarks.report import close, machine, markdown
from benchmarks.workers.contestants import alternate, started
from benchmarks.workers.environments import chosen_contestants, define_contestant_flags
from kbert.cli import script
from kbert.config import FinetuningConfig, load_config
from kbert.features import ENCODER_INPUTS, LABEL_FEATURE

FLAGS = flags.FLAGS

CONTESTANTS = (
    "litert/float32",
    "litert/float16",
    "litert/dynamic_int8",
    "onnx_runtime/float32",
    "onnx_runtime/int8",
)
LENGTHS = (16, 32, 64, 128)
EVAL = 0  # in the place of a length: the rows of --eval_file, each as long as it is


def define_flags():
    define_contestant_flags(CONTESTANTS, CONTESTANTS)
    flags.DEFINE_string("init_checkpoint", None, "The classifier: a run, or a checkpoint of any format.")
    flags.DEFINE_string("config", None, "A config of fine-tuning, whose [dataset] says how the file is read.")
    flags.DEFINE_string("eval_file", None, "Labelled file.")
    flags.DEFINE_integer("num_rows", 20, "Full rows of each length.", lower_bound=1)
    flags.DEFINE_integer("rounds", 5, "Times that each row is timed.", lower_bound=1)
    flags.mark_flags_as_required(["init_checkpoint", "config", "eval_file"])


def main():
    names = chosen_contestants(CONTESTANTS)
    config = load_config(FinetuningConfig, FLAGS.config)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        settings, expected, labels = prepare(Path(folder), config, names)
        with started(names, "serving", settings | {"rounds": FLAGS.rounds + 1}) as workers:
            alternate(workers, None, FLAGS.num_rows)
            rows = {
                worker.name: figures(worker.record, FLAGS.rounds + 1, expected, labels) for worker in workers
            }
    print(table(rows))
    close("litert", rows)


def prepare(folder: Path, config, names):
    """Writes the classifier in every format.

    Args:
      folder: an existing folder for the files.
      config: says how --eval_file is read.
      names: the contestants.

    Returns:
      (settings, probabilities, labels): what the workers get; and of --eval_file Keras's answers, float32
      (rows, labels), and the right ones, int (rows,).

    Raises:
      ValueError: when the checkpoint is no classifier, or does not match the file.
    """
    from benchmarks.workers.starting_point import write_classifier, write_litert
    from export.litert.comparison import keras_answers
    from export.litert.comparison_data import comparison_data
    from export.litert.litert_source import to_litert_source
    from kbert.inference.loading import load

    settings = write_classifier(folder, FLAGS.init_checkpoint, None, LENGTHS[-1])
    loaded = load(settings["run_dir"])
    data = comparison_data(to_litert_source(loaded, config), FLAGS.eval_file, LENGTHS[-1])
    rows, labels = {name: data.rows[name] for name in ENCODER_INPUTS}, data.rows[LABEL_FEATURE]
    answer = keras_answers(loaded.task, loaded.model, loaded.text_inputs, FLAGS.init_checkpoint)
    settings |= write_litert(folder, loaded, LENGTHS, names)
    batches = {length: full_rows(rows, length, FLAGS.num_rows) for length in LENGTHS}
    return settings | {"batches": batches | {EVAL: real_rows(rows)}}, answer(rows)["probabilities"], labels


def real_rows(rows: dict) -> list[dict]:
    """Each row without its padding: a list of name -> list of ints."""
    lengths = rows["input_mask"].sum(axis=1)
    return [
        {name: values[row, :length].tolist() for name, values in rows.items()}
        for row, length in enumerate(lengths)
    ]


def full_rows(rows: dict, length: int, number: int) -> list[dict]:
    """`number` rows of exactly `length` tokens: the texts of `rows` one after another, cut into rows."""
    real = real_rows(rows)
    first, last = real[0]["input_ids"][0], real[0]["input_ids"][-1]
    inner = [token for row in real for token in row["input_ids"][1:-1]]
    room = length - 2
    inner *= 1 + room * number // len(inner)
    return [
        {
            "input_ids": [first, *inner[at : at + room], last],
            "input_mask": [1] * length,
            "segment_ids": [0] * length,
        }
        for at in range(0, room * number, room)
    ]


def figures(record, rounds: int, expected, labels) -> dict:
    """Medians by length; accuracy and agreement with Keras on the rows of the file; the file's size."""
    answers = np.array(record.result["answers"])[-len(labels) :]
    return {
        "milliseconds": median_milliseconds(record.steps, rounds),
        "accuracy": float((answers.argmax(-1) == labels).mean()),
        "megabytes": record.facts["bytes"] / 1e6,
        **differences(answers, expected),
    }


def table(rows: dict) -> str:
    lengths = [f"{length} tokens" for length in LENGTHS]
    heads = ["ms", *lengths, "a text of the file", "accuracy", "answers of Keras", "largest difference", "MB"]
    return markdown(
        heads,
        [
            [
                name,
                *(f"{row['milliseconds'][size]:.2f}" for size in (*LENGTHS, EVAL)),
                f"{row['accuracy']:.4f}",
                f"{100 * row['agreement']:.2f} %",
                f"{row['max_difference']:.1g}",
                f"{row['megabytes']:.1f}",
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
