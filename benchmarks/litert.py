r"""Benchmark: one row of token ids in, probabilities out: kbert's LiteRT files beside ONNX Runtime.

  make bench-peers
  python -m benchmarks.litert --init_checkpoint=runs/sst2 --config=configs/finetuning/sst2.toml \
      --eval_file=SST-2/dev.tsv

The same classifier in every file, the same rows for all: of each length full rows, made of the texts of
--eval_file, and then every row of that file by itself. Each contestant is a process of its own with as many
threads, and answers some rows while the others wait.

  kbert/float32, /float16, /dynamic_int8   what export_tflite writes, one file with all lengths: a row goes to
                                           the shortest that has room, with padding.
  onnx_runtime/float32                     the graph after ONNX Runtime's own optimizer for BERT, any length.
  onnx_runtime/int8                        the graph quantized by its `quantize_dynamic`.

Tables have medians in milliseconds for each number of threads, the accuracy on --eval_file, how many answers
are those of Keras, and what a file weighs. The line of JSON has the processor's milliseconds too: where other
work goes on they say more than the clock's.
"""

import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from absl import flags

from benchmarks import REPOSITORY
from benchmarks.report import close, machine
from benchmarks.workers import environments
from benchmarks.workers.contestants import Contestant, alternate
from kbert import command_line
from kbert.config import FinetuningConfig, load_config
from kbert.features import ENCODER_INPUTS, LABEL_FEATURE

FLAGS = flags.FLAGS

_PEER = "onnx_runtime"
CONTESTANTS = (
    "kbert/float32",
    "kbert/float16",
    "kbert/dynamic_int8",
    f"{_PEER}/float32",
    f"{_PEER}/int8",
)
EVAL = 0  # in the place of a length: the rows of --eval_file, each as long as it is


def define_flags():
    flags.DEFINE_list("contestants", list(CONTESTANTS), "Who takes part, see above.")
    flags.DEFINE_string("init_checkpoint", None, "The classifier: a run, or a checkpoint of any format.")
    flags.DEFINE_string("config", None, "A config of fine-tuning, whose [dataset] says how the file is read.")
    flags.DEFINE_string("eval_file", None, "Labelled file.")
    flags.DEFINE_list("lengths", ["16", "32", "64", "128"], "Tokens of the full rows.")
    flags.DEFINE_integer("num_rows", 20, "Full rows of each length.", lower_bound=1)
    flags.DEFINE_integer("rounds", 5, "Times that each row is timed.", lower_bound=1)
    flags.DEFINE_list("threads", ["1", "2"], "Threads of each contestant; all take part for each number.")
    environments.define_flags(_PEER)
    flags.mark_flags_as_required(["init_checkpoint", "config", "eval_file"])


def main(argv):
    del argv
    from export.litert import requests

    lengths = sorted(requests.parse_lengths(FLAGS.lengths))
    requests.check_lengths(lengths)
    config = load_config(FinetuningConfig, FLAGS.config)
    pythons = environments.pythons(_PEER)
    names = [name for name in map(checked, FLAGS.contestants) if name.startswith("kbert") or pythons]
    print(machine(), flush=True)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        classifier = Classifier(Path(folder), config, lengths)
        settings = classifier.settings(names) | {"rounds": FLAGS.rounds + 1}
        for threads in map(int, FLAGS.threads):
            print(f"{threads} thread{'s' * (threads > 1)}:", flush=True)
            records = run_all(names, pythons, settings, threads)
            results[threads] = {
                name: figures(record, classifier, FLAGS.rounds) for name, record in records.items()
            }
            print(table(results[threads], lengths), flush=True)
    close("litert", rows(results))


def checked(name: str) -> str:
    """`name`, when it is one of CONTESTANTS; raises ValueError for another."""
    if name not in CONTESTANTS:
        raise ValueError(f"--contestants names {name!r}; choose among {', '.join(CONTESTANTS)}.")
    return name


def run_all(names, pythons, settings, threads) -> dict:
    """The `Record` of each contestant, which all have answered all rows in turns."""
    workers = []
    with ExitStack() as stack:
        for name in names:
            own = {"precision": name.split("/")[1]}
            worker = Contestant(name, command_of(name, pythons), settings | own, threads)
            stack.callback(worker.close)
            print(f"  {name}: {worker.record.facts}", flush=True)
            workers.append(worker)
        alternate(workers, None, FLAGS.num_rows)
        return {worker.name: worker.record for worker in workers}


def command_of(name: str, pythons) -> list[str]:
    """The command of a contestant's worker."""
    if name.startswith("kbert"):
        return [sys.executable, "-m", "benchmarks.workers.kbert_litert"]
    return [pythons[_PEER], str(REPOSITORY / "benchmarks" / "peers" / f"{_PEER}_serving.py")]


class Classifier:
    """The classifier in every format, the rows to ask, and what Keras answers to those of --eval_file.

    Args:
      folder: an existing folder for the files.
      config: says how --eval_file is read.
      lengths: ascending.

    Attributes:
      labels: int (rows,), of --eval_file.
      probabilities: float32 (rows, labels), Keras's.

    Raises:
      ValueError: when the checkpoint is no classifier, or does not match the file.
    """

    def __init__(self, folder: Path, config, lengths):
        from benchmarks.workers.starting_point import write_classifier
        from export.litert.comparison import keras_answers
        from export.litert.comparison_data import comparison_data
        from export.litert.litert_source import source_of
        from kbert.inference.loaded_model import load

        self._folder, self._lengths = folder, lengths
        self._places = write_classifier(folder, FLAGS.init_checkpoint, None, lengths[-1])
        self._loaded = load(self._places["run_dir"])
        data = comparison_data(source_of(self._loaded, config), FLAGS.eval_file, lengths[-1])
        rows = {name: np.concatenate([batch[name] for batch in data.batches]) for name in ENCODER_INPUTS}
        self.labels = np.concatenate([batch[LABEL_FEATURE] for batch in data.batches])
        answer = keras_answers(
            self._loaded.task, self._loaded.model, self._loaded.text_inputs, FLAGS.init_checkpoint
        )
        self.probabilities = answer(rows)["probabilities"]
        self._batches = {length: full_rows(rows, length, FLAGS.num_rows) for length in lengths}
        self._batches[EVAL] = real_rows(rows)

    def settings(self, names) -> dict:
        """What the workers get: the places of the files, their bytes, and the rows."""
        from export.litert.conversion import convert_to_litert

        task, model, text_inputs = self._loaded.task, self._loaded.model, self._loaded.text_inputs
        signature, files = task.signatures(model, text_inputs)["ids"], {}
        for quantization in (name.split("/")[1] for name in names if name.startswith("kbert")):
            path = self._folder / f"model_{quantization}.tflite"
            path.write_bytes(convert_to_litert(signature, self._lengths, quantization))
            files[quantization] = path
        return self._places | {
            "files": {name: str(path) for name, path in files.items()},
            "bytes": {name: path.stat().st_size for name, path in files.items()},
            "batches": self._batches,
            "rows_of_ids": True,
        }


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
    needed = room * number
    inner = inner * (1 + needed // len(inner))
    return [
        {
            "input_ids": [first, *inner[at : at + room], last],
            "input_mask": [1] * length,
            "segment_ids": [0] * length,
        }
        for at in range(0, needed, room)
    ]


# ------------------------------------------------------------------------------ report


def figures(record, classifier, rounds: int) -> dict:
    """Medians in milliseconds by length, of all but the first round; accuracy and agreement on the file."""
    timed = record.steps[len(record.steps) // (rounds + 1) :]
    sizes = dict.fromkeys(step["size"] for step in timed)
    found = np.array(record.result["answers"])[-len(classifier.labels) :]
    expected = classifier.probabilities
    return {
        "milliseconds": {size: median_milliseconds(timed, size, "seconds") for size in sizes},
        "cpu_milliseconds": {size: median_milliseconds(timed, size, "cpu_seconds") for size in sizes},
        "accuracy": float((found.argmax(-1) == classifier.labels).mean()),
        "agreement": float((found.argmax(-1) == expected.argmax(-1)).mean()),
        "max_difference": float(np.abs(found - expected).max()),
        "megabytes": record.facts["bytes"] / 1e6,
    }


def rows(results: dict) -> dict:
    """The closing line's rows: "kbert/float32, 1" -> figures with one thread."""
    return {
        f"{name}, {threads}": facts for threads, found in results.items() for name, facts in found.items()
    }


def median_milliseconds(steps, size: int, which: str) -> float:
    """Of the steps of a length: of the clock ("seconds"), or of the processor ("cpu_seconds")."""
    return round(1e3 * statistics.median(step[which] for step in steps if step["size"] == size), 3)


def table(results: dict, lengths) -> str:
    """Markdown: a row for every contestant."""
    heads = "".join(f" {length} tokens |" for length in lengths)
    rows = [
        f"| ms |{heads} a text of the file | accuracy | answers of Keras | largest difference | MB |",
        "|---|" + "---:|" * (len(lengths) + 5),
    ]
    for name, one in results.items():
        cells = "".join(f" {one['milliseconds'][size]:.2f} |" for size in [*lengths, EVAL])
        rows.append(
            f"| {name} |{cells} {one['accuracy']:.4f} | {100 * one['agreement']:.2f} % | "
            f"{one['max_difference']:.1g} | {one['megabytes']:.1f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
