r"""Benchmark: text -> masked pretraining records, kbert beside the original script and Hugging Face.

  python -m benchmarks.pretraining_data --input_files='corpus/*.txt' --vocab_file=vocab.txt \
      --bert_checkout=path/to/google-research-bert --peers_python=path/to/peers/bin/python

Contestants are whole processes on the same number of cores. They run in turn, several times; the table has
medians. The original (github.com/google-research/bert) runs in this environment on tensorflow.compat.v1,
Hugging Face in its own environment (tests/peers/requirements.txt). A peer that is not given is left out, with
a message. At the end kbert alone runs on --copies of the corpus: its memory should not grow with the corpus,
and the marginal speed, that of the text which came on top, leaves out what a start costs.
"""

import itertools
import os
import statistics
import sys
import tempfile
from pathlib import Path

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.report import close
from benchmarks.workers import process_tree
from kbert import command_line
from tfrecords_tools.corpus.documents import input_files

FLAGS = flags.FLAGS

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
    flags.DEFINE_string("peers_python", None, "Python with tests/peers/requirements.txt installed.")
    flags.DEFINE_integer("dupe_factor", 5, "Passes over the corpus.", lower_bound=1)
    flags.DEFINE_integer("max_seq_length", 128, "Length of the sequences.", lower_bound=8)
    flags.DEFINE_integer("cores", 2, "Cores for each contestant.", lower_bound=1)
    flags.DEFINE_list("copies", ["4"], "At the end kbert runs on so many copies of the corpus; ascending.")
    flags.DEFINE_integer("repetitions", 3, "Timed runs of every contestant.", lower_bound=1)


def main(argv):
    del argv
    copies = checked_copies(FLAGS.copies)
    with tempfile.TemporaryDirectory() as folder:
        _complete_flags(folder)
        num_bytes = sum(file.stat().st_size for file in input_files(FLAGS.input_files))
        print(f"{num_bytes / 1e6:.1f} MB, dupe_factor {FLAGS.dupe_factor}, {FLAGS.cores} cores", flush=True)
        contestants = {"kbert": lambda: _kbert(folder, FLAGS.input_files)}
        if FLAGS.bert_checkout:
            contestants["original"] = lambda: _original(folder)
        if FLAGS.peers_python:
            contestants["Hugging Face (no pairs)"] = lambda: _hugging_face(folder)
        for name in ("bert_checkout", "peers_python"):
            if not FLAGS[name].value:
                print(f"--{name} is not given: that peer is left out.", flush=True)
        costs = {name: [] for name in contestants}
        for _ in range(FLAGS.repetitions):
            for name, contestant in contestants.items():
                costs[name].append(contestant())
                print(f"  {name}: {costs[name][-1].seconds:.1f} s", flush=True)
        for number in copies:
            costs[f"kbert, {number} copies of the corpus"] = [_kbert(folder, write_copies(folder, number))]
    print(_table(costs))
    seconds = [statistics.median(cost.seconds for cost in costs["kbert"])]
    seconds += [costs[f"kbert, {number} copies of the corpus"][0].seconds for number in copies]
    for number, speed in zip(copies, marginal_speeds(num_bytes, [1, *copies], seconds), strict=True):
        print(f"marginal speed up to {number} copies: {speed / FLAGS.cores / 1e6:.2f} MB/s per core")
    runs = {name: [cost._asdict() for cost in found] for name, found in costs.items()}
    close("pretraining_data", rows(costs), runs=runs)


def rows(costs) -> dict:
    """The closing line's rows: contestant -> medians."""
    return {
        name: {
            "seconds": statistics.median(cost.seconds for cost in found),
            "megabytes": statistics.median(cost.megabytes for cost in found),
        }
        for name, found in costs.items()
    }


def _complete_flags(folder):
    """Makes the text and the vocabulary that are not given."""
    tool = [sys.executable, "-m"]
    if not FLAGS.input_files:
        command = [*tool, "tfrecords_tools.write_embedded_text", f"--output_dir={folder}/embedded"]
        process_tree.run(command, FLAGS.cores, cwd=REPOSITORY)
        FLAGS.input_files = f"{folder}/embedded/text/train.txt"
    if not FLAGS.vocab_file:
        FLAGS.vocab_file = f"{folder}/vocab.txt"
        command = [*tool, "tfrecords_tools.build_vocabulary", f"--input_files={FLAGS.input_files}"]
        command += [f"--output_file={FLAGS.vocab_file}", "--vocab_size=6000"]
        process_tree.run(command, FLAGS.cores, cwd=REPOSITORY)


def _kbert(folder, files):
    command = [
        *(sys.executable, "-m", "tfrecords_tools.create_pretraining_data", "--overwrite"),
        *(f"--input_files={files}", f"--vocab_file={FLAGS.vocab_file}", f"--output_dir={folder}/kbert"),
        *(f"--dupe_factor={FLAGS.dupe_factor}", f"--max_seq_length={FLAGS.max_seq_length}"),
        f"--num_workers={FLAGS.cores}",
    ]
    return process_tree.run(command, FLAGS.cores, cwd=REPOSITORY)


def _original(folder):
    files = ",".join(map(str, input_files(FLAGS.input_files)))
    command = [
        *(sys.executable, "-c", _ORIGINAL, f"{FLAGS.bert_checkout}/create_pretraining_data.py"),
        *(f"--input_file={files}", f"--vocab_file={FLAGS.vocab_file}", f"--output_file={folder}/original"),
        *(f"--dupe_factor={FLAGS.dupe_factor}", f"--max_seq_length={FLAGS.max_seq_length}"),
    ]
    return process_tree.run(command, FLAGS.cores)


def _hugging_face(folder):
    command = [
        *(FLAGS.peers_python, str(REPOSITORY / "benchmarks" / "peers" / "hugging_face_masked_data.py")),
        *(f"--input_files={FLAGS.input_files}", f"--vocab_file={FLAGS.vocab_file}"),
        *(f"--output={folder}/hugging_face", f"--dupe_factor={FLAGS.dupe_factor}"),
        f"--max_seq_length={FLAGS.max_seq_length}",
    ]
    return process_tree.run(command, FLAGS.cores, env={"TOKENIZERS_PARALLELISM": "true"})


def checked_copies(texts) -> list[int]:
    """The numbers of copies; ValueError unless they ascend from 2."""
    numbers = [int(text) if text.isdecimal() else 0 for text in texts]
    if any(number <= before for before, number in itertools.pairwise([1, *numbers])):
        raise ValueError(f"--copies={','.join(texts)} must be ascending numbers above 1, such as 4,16.")
    return numbers


def write_copies(folder, number) -> str:
    """A glob of `number` links to each file of the corpus."""
    copies = Path(folder, f"copies_{number}")
    copies.mkdir()
    for place, file in enumerate(input_files(FLAGS.input_files)):
        for copy in range(number):
            os.symlink(file.absolute(), copies / f"{copy}-{place}-{file.name}")
    return f"{copies}/*"


def marginal_speeds(num_bytes, copies, seconds) -> list[float]:
    """Bytes a second of the text that each number of copies has more than the one before."""
    steps = itertools.pairwise(zip(copies, seconds, strict=True))
    return [(more - less) * num_bytes / (longer - shorter) for (less, shorter), (more, longer) in steps]


def _table(costs) -> str:
    seconds = {name: statistics.median(cost.seconds for cost in found) for name, found in costs.items()}
    lines = [f"{'':32}{'seconds':>10}{'kbert is':>14}{'peak MB':>10}"]
    for name, found in costs.items():
        times = "" if name.startswith("kbert") else f"{seconds[name] / seconds['kbert']:.1f} x faster"
        memory = statistics.median(cost.megabytes for cost in found)
        lines.append(f"{name:32}{seconds[name]:10.1f}{times:>14}{memory:10.0f}")
    return "\n".join(lines)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
