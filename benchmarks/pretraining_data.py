r"""Benchmark: text -> masked pretraining records, kbert beside the original script and Hugging Face.

  make bench-peers
  python -m benchmarks.pretraining_data --input_files='corpus/*.txt' --vocab_file=vocab.txt \
      --bert_checkout=path/to/google-research-bert

Contestants are whole processes on the same number of cores. They run in turn, several times; the table has
medians. The original (github.com/google-research/bert) runs in this environment on tensorflow.compat.v1, and
is left out without --bert_checkout; Hugging Face runs in its own environment, and makes no pairs. Memory is
that of all processes of a contestant.
"""

import json
import statistics
import sys
import tempfile

from absl import flags

from benchmarks.corpora import data_tool, text_files, vocabulary_file
from benchmarks.report import beside_best_peer, close, machine, markdown
from benchmarks.workers import environments, process_tree
from kbert.cli import script
from tfrecords_tools.corpus.corpus_files import input_files

FLAGS = flags.FLAGS

MAX_SEQ_LENGTH = 128
# The original needs TensorFlow 1; `compat.v1` still has its flags, files and records.
_ORIGINAL = """
import os, runpy, sys
import tensorflow.compat.v1 as tensorflow
sys.modules["tensorflow"] = tensorflow
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def define_flags():
    flags.DEFINE_string("input_files", None, "Plain text files, a glob; by default CPython's documentation.")
    flags.DEFINE_string("vocab_file", None, "An uncased vocab.txt; by default one learned from the text.")
    flags.DEFINE_string("bert_checkout", None, "Folder with the original create_pretraining_data.py.")
    flags.DEFINE_integer("dupe_factor", 5, "Passes over the corpus.", lower_bound=1)
    flags.DEFINE_integer("cores", 2, "Cores for each contestant.", lower_bound=1)
    flags.DEFINE_integer("repetitions", 3, "Timed runs of every contestant.", lower_bound=1)


def main():
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = text_files(FLAGS.input_files, folder)
        vocab_file = vocabulary_file(FLAGS.vocab_file, files, 6000, folder)
        num_bytes = sum(file.stat().st_size for file in input_files(files))
        print(f"{num_bytes / 1e6:.1f} MB, dupe_factor {FLAGS.dupe_factor}, {FLAGS.cores} cores", flush=True)
        contestants = commands(files, vocab_file, folder)
        costs = {name: [] for name in contestants}
        for _ in range(FLAGS.repetitions):
            for name, command in contestants.items():
                costs[name].append(process_tree.run(command, FLAGS.cores))
                print(f"  {name}: {costs[name][-1].seconds:.1f} s", flush=True)
    rows = figures(costs)
    print(table(rows))
    print(beside_best_peer({name: 1 / row["seconds"] for name, row in rows.items()}))
    close("pretraining_data", rows)


def commands(files: str, vocab_file: str, folder) -> dict[str, list[str]]:
    """The command of each contestant that is there."""
    common = [
        f"--vocab_file={vocab_file}",
        f"--dupe_factor={FLAGS.dupe_factor}",
        f"--max_seq_length={MAX_SEQ_LENGTH}",
    ]
    own = [f"--output_dir={folder}/kbert", "--overwrite", f"--num_workers={FLAGS.cores}"]
    found = {"kbert": data_tool("create_pretraining_data", f"--input_files={files}", *own, *common)}
    if FLAGS.bert_checkout:
        script = f"{FLAGS.bert_checkout}/create_pretraining_data.py"
        own = [f"--input_file={','.join(map(str, input_files(files)))}", f"--output_file={folder}/original"]
        found["original"] = [sys.executable, "-c", _ORIGINAL, script, *own, *common]
    if environments.python_of("hugging_face").is_file():
        settings = {"input_files": files, "vocab_file": vocab_file, "output": f"{folder}/hugging_face"}
        settings |= {"dupe_factor": FLAGS.dupe_factor, "max_seq_length": MAX_SEQ_LENGTH}
        found["hugging_face"] = [
            *environments.command_of("hugging_face", "masked_data"),
            json.dumps(settings),
        ]
    print(f"contestants: {', '.join(found)}", flush=True)
    return found


def figures(costs: dict) -> dict:
    """name -> medians."""
    return {
        name: {key: statistics.median(getattr(cost, key) for cost in found) for key in found[0]._fields}
        for name, found in costs.items()
    }


def table(rows: dict) -> str:
    cells = [[name, f"{row['seconds']:.1f}", f"{row['megabytes']:,.0f}"] for name, row in rows.items()]
    return markdown(["", "seconds", "peak MB of all processes"], cells)


if __name__ == "__main__":
    define_flags()
    script.run(main)
