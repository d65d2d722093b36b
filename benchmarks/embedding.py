r"""Benchmark: vectors of texts in Python: `kbert.load(...).embed` beside Hugging Face.

 make bench-peers
 python -m benchmarks.embedding
 python -m benchmarks.embedding --contestants=kbert/bfloat16,hugging_face/bfloat16+compile --num_texts=2000

Each contestant gets the same list of texts of mixed lengths in one call, tokenization included: the mean
of MiniLM's last layer over the tokens of a text, of length 1. Hugging Face is given its best: texts sorted by
length, in batches of --batch_size padded to their longest. Each is a process of its own with as many threads,
and works while the others wait. The first round is not timed.

The table has texts a second, of the median round, and how the vectors differ from Hugging Face's in float32.
"""

import statistics
import sys
from contextlib import ExitStack

import numpy as np
from absl import flags

from benchmarks import REPOSITORY
from benchmarks.finetuning import find_minilm
from benchmarks.report import close, fit_for_machine, machine
from benchmarks.serving import mixed_texts
from benchmarks.workers import environments
from benchmarks.workers.contestants import Contestant, alternate
from kbert import command_line

FLAGS = flags.FLAGS

CONTESTANTS = (
    "kbert/float32",
    "kbert/bfloat16",
    "hugging_face/float32",
    "hugging_face/bfloat16",
    "hugging_face/float32+compile",
    "hugging_face/bfloat16+compile",
)


def define_flags():
    flags.DEFINE_list("contestants", fit_for_machine(CONTESTANTS), "Who takes part, see above.")
    flags.DEFINE_string("init_checkpoint", None, "Hugging Face folder; by default the peers' MiniLM.")
    flags.DEFINE_string(
        "input_file", None, "A file with a text on each line; by default Python's own manual."
    )
    flags.DEFINE_integer("num_texts", 1000, "Texts of a call.", lower_bound=1)
    flags.DEFINE_integer("batch_size", 16, "Texts of a batch of Hugging Face's.", lower_bound=1)
    flags.DEFINE_integer("rounds", 5, "Times that the texts are timed.", lower_bound=1)
    flags.DEFINE_integer("max_seq_length", 128, "Tokens of a text at most.", lower_bound=4)
    flags.DEFINE_integer("threads", 2, "Threads of each contestant.", lower_bound=1)
    environments.define_flags("hugging_face")


def main(argv):
    del argv
    for name in FLAGS.contestants:
        if name not in CONTESTANTS:
            raise ValueError(f"--contestants names {name!r}; choose among {', '.join(CONTESTANTS)}.")
    texts = mixed_texts(FLAGS.input_file)[: FLAGS.num_texts]
    if len(texts) < FLAGS.num_texts:
        raise ValueError(f"there are {len(texts)} texts; lower --num_texts={FLAGS.num_texts}.")
    pythons = environments.pythons("hugging_face")
    names = [name for name in FLAGS.contestants if name.startswith("kbert/") or pythons]
    print(machine(), flush=True)
    results = measure(names, texts, pythons)
    print(table(results))
    close("embedding", results)


def measure(names, texts, pythons) -> dict:
    """name -> texts_per_second, max_difference (of a vector's numbers), peak_megabytes."""
    shared = {
        "hugging_face_folder": FLAGS.init_checkpoint or find_minilm(pythons),
        "batches": {len(texts): [texts]},
        "rounds": FLAGS.rounds + 1,
        "batch_size": FLAGS.batch_size,
        "max_seq_length": FLAGS.max_seq_length,
    }
    with ExitStack() as stack:
        workers = {}
        for name in names:
            system, _, kind = name.partition("/")
            precision, _, option = kind.partition("+")
            own = shared | {"precision": precision, "option": option}
            worker = Contestant(name, command_of(system, pythons), own, FLAGS.threads)
            stack.callback(worker.close)
            print(f"  {name}: {worker.record.facts}", flush=True)
            workers[name] = worker
        alternate(list(workers.values()), None, 1)
        return figures({name: worker.record for name, worker in workers.items()})


def command_of(system: str, pythons) -> list[str]:
    """The command of a contestant's worker."""
    if system == "kbert":
        return [sys.executable, "-m", "benchmarks.workers.kbert_embedding"]
    return [
        pythons[system],
        str(REPOSITORY / "benchmarks" / "peers" / "hugging_face_embedding.py"),
    ]


def figures(records: dict) -> dict:
    """What `measure` returns."""
    vectors = {name: np.array(record.result["answers"]) for name, record in records.items()}
    expected = vectors.get("hugging_face/float32", next(iter(vectors.values())))
    return {
        name: {
            "texts_per_second": len(vectors[name])
            / statistics.median(step["seconds"] for step in record.steps[1:]),
            "max_difference": float(np.abs(vectors[name] - expected).max()),
            "peak_megabytes": record.peak_megabytes,
        }
        for name, record in records.items()
    }


def table(results: dict) -> str:
    """Markdown: a row for every contestant, the fastest first."""
    rows = ["| | texts/s | largest difference | peak MB |", "|---|---:|---:|---:|"]
    for name, result in sorted(results.items(), key=lambda item: -item[1]["texts_per_second"]):
        rows.append(
            f"| {name} | {result['texts_per_second']:.0f} | {result['max_difference']:.1g} "
            f"| {result['peak_megabytes']:,.0f} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
