r"""Benchmark: the tokenizers without TensorFlow (Python, JavaScript) beside the graph, one text at a time.

  python -m benchmarks.plain_tokenizers
  python -m benchmarks.plain_tokenizers --vocab_file=vocab.txt --input_files=texts.txt

Text and vocabulary are those of benchmarks/tokenization.py, a text a line. Each makes the rows (input_ids,
input_mask, segment_ids) of one text after the other, on one thread, as a program on a phone does. `graph,
batches` is what the graph is made for. JavaScript is run where there is node, and its start is not counted.
Ids are compared. Speeds are texts a CPU second, so that other work on the machine does not count. `to start`
is the CPU seconds of a new process: Python, imports, vocabulary, first text.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from absl import flags

from benchmarks.figures import closing_line
from benchmarks.tokenization import corpus_lines, draw_lines, learned_vocabulary
from kbert import command_line
from kbert.tokenization.vocabulary import Vocabulary

FLAGS = flags.FLAGS

_LENGTH, _BATCH = 128, 64
_NODE_WORKER = Path(__file__).parent / "workers" / "tokenize.mjs"
_START = """
import sys, time
from kbert.tokenization.vocabulary import Vocabulary
{imports}
TextInputs(Vocabulary.from_file(sys.argv[1], True), 128)({text})
print(time.process_time())
"""
_STARTS = {
    "Python": ("from export.tokenizers.python.text_inputs import TextInputs", "['a text']"),
    "graph": (
        "import tensorflow as tf\nfrom kbert.tokenization.text_inputs import TextInputs",
        "tf.constant(['a text'])",
    ),
}


def define_flags():
    flags.DEFINE_string("vocab_file", None, "An uncased vocab.txt; by default one learned from the text.")
    flags.DEFINE_string("input_files", None, "Text files, globs allowed; by default CPython's documentation.")
    flags.DEFINE_float(
        "megabytes", 0.1, "Text to tokenize, drawn at random from the lines.", lower_bound=0.01
    )
    flags.DEFINE_integer("repetitions", 5, "Timed runs of each, in turns.", lower_bound=1)


def main(argv):
    del argv
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    texts = draw_lines(corpus_lines(FLAGS.input_files), FLAGS.megabytes * 1e6)
    with tempfile.TemporaryDirectory() as folder:
        vocab_file = Path(folder, "vocab.txt")
        given = FLAGS.vocab_file and Vocabulary.from_file(FLAGS.vocab_file, do_lower_case=True)
        (given or learned_vocabulary(texts)).write(vocab_file)
        compare(texts, vocab_file, FLAGS.repetitions)


def compare(texts, vocab_file, repetitions):
    """Times every tokenizer on the texts, and prints a table and a line of JSON."""
    vocabulary = Vocabulary.from_file(vocab_file, do_lower_case=True)
    runs = _runs(vocabulary, texts)
    expected = runs["graph, batches"]()  # this also traces and warms up
    for name, run in runs.items():
        if run() != expected:
            raise ValueError(f"{name} gives other ids than the graph.")
    seconds = {name: [] for name in runs}
    for _ in range(repetitions):
        for name, run in runs.items():
            began = time.process_time()
            run()
            seconds[name].append(time.process_time() - began)
    speeds = {name: len(texts) / statistics.median(values) for name, values in seconds.items()}
    speeds |= _node_speed(texts, vocab_file, repetitions, expected)
    starts = {name: _seconds_to_start(*parts, vocab_file, repetitions) for name, parts in _STARTS.items()}
    _print(len(texts), repetitions, speeds, starts)


def _runs(vocabulary, texts) -> dict:
    """name -> function without arguments that gives the ids of all texts, without padding."""
    import tensorflow as tf

    from export.tokenizers.python.text_inputs import TextInputs as PlainTextInputs
    from kbert.tokenization.text_inputs import TextInputs

    plain, eager = PlainTextInputs(vocabulary, _LENGTH), TextInputs(vocabulary, _LENGTH)
    traced = tf.function(eager, input_signature=[tf.TensorSpec([None], tf.string)])

    def batches(call, size):
        rows = [call(texts[start : start + size]) for start in range(0, len(texts), size)]
        pairs = (
            (ids, mask) for row in rows for ids, mask in zip(row["input_ids"], row["input_mask"], strict=True)
        )
        return [ids[: mask.sum()].tolist() for ids, mask in pairs]

    def of_tensors(call):
        return lambda some: {name: value.numpy() for name, value in call(tf.constant(some)).items()}

    return {
        "Python": lambda: batches(plain, 1),
        "graph, op by op": lambda: batches(of_tensors(eager), 1),
        "graph, tf.function": lambda: batches(of_tensors(traced), 1),
        "graph, batches": lambda: batches(of_tensors(traced), _BATCH),
    }


def _node_speed(texts, vocab_file, repetitions, expected) -> dict:
    if shutil.which("node") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "texts.json")
        file.write_text(json.dumps(texts), "utf-8")
        command = ["node", *map(str, (_NODE_WORKER, vocab_file, file, _LENGTH, repetitions))]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if answer["ids"] != expected:
        raise ValueError("JavaScript gives other ids than the graph.")
    return {"JavaScript": len(texts) / statistics.median(answer["seconds"])}


def _seconds_to_start(imports, text, vocab_file, repetitions) -> float:
    script = _START.format(imports=imports, text=text)
    command = [sys.executable, "-c", script, str(vocab_file)]
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    answers = [
        subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        for _ in range(repetitions)
    ]
    return statistics.median(map(float, answers))


def _print(number, repetitions, speeds, starts):
    print(f"{number:,} texts, one thread, length {_LENGTH}; median of {repetitions} runs")
    for name, speed in speeds.items():
        start = f"{starts[name]:8.2f} CPU s to start" if name in starts else ""
        print(f"{name:20}{speed:10,.0f} texts / CPU s{start}")
    facts = {"texts_per_cpu_second": speeds, "cpu_seconds_to_start": starts}
    closing_line.close("plain_tokenizers", facts)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
