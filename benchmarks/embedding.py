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

from absl import flags

from benchmarks.answers import differences, median_milliseconds, mixed_texts
from benchmarks.report import beside_best_peer, close, machine, markdown
from benchmarks.workers.contestants import alternate, started
from benchmarks.workers.environments import chosen_contestants, define_contestant_flags, find_minilm
from kbert.cli import script

FLAGS = flags.FLAGS

CONTESTANTS = (
    "kbert/float32",
    "kbert/bfloat16",
    "hugging_face/float32",
    "hugging_face/bfloat16",
    "hugging_face/float32+compile",
    "hugging_face/bfloat16+compile",
)
MAX_SEQ_LENGTH = 128


def define_flags():
    define_contestant_flags(CONTESTANTS, CONTESTANTS)
    flags.DEFINE_string("init_checkpoint", None, "Hugging Face folder; by default the peers' MiniLM.")
    flags.DEFINE_integer("num_texts", 1000, "Texts of a call.", lower_bound=1)
    flags.DEFINE_integer("batch_size", 16, "Texts of a batch of Hugging Face's.", lower_bound=1)
    flags.DEFINE_integer("rounds", 5, "Times that the texts are timed.", lower_bound=1)


def main():
    names = chosen_contestants(CONTESTANTS)
    settings = {
        "hugging_face_folder": FLAGS.init_checkpoint or find_minilm(),
        "batches": {FLAGS.num_texts: [mixed_texts(FLAGS.num_texts)]},
        "rounds": FLAGS.rounds + 1,
        "batch_size": FLAGS.batch_size,
        "max_seq_length": MAX_SEQ_LENGTH,
    }
    print(machine(), flush=True)
    with started(names, "embedding", settings) as workers:
        alternate(workers, None, 1)
        rows = figures({worker.name: worker.record for worker in workers}, FLAGS.rounds + 1)
    print(table(rows))
    print(beside_best_peer({name: row["texts_per_second"] for name, row in rows.items()}))
    close("embedding", rows)


def figures(records: dict, rounds: int) -> dict:
    """name -> texts_per_second, max_difference (of a vector's numbers), peak_megabytes."""
    vectors = {name: record.result["answers"] for name, record in records.items()}
    expected = vectors.get("hugging_face/float32", next(iter(vectors.values())))
    rows = {}
    for name, record in records.items():
        (milliseconds,) = median_milliseconds(record.steps, rounds).values()
        rows[name] = {
            "texts_per_second": 1e3 * len(vectors[name]) / milliseconds,
            "max_difference": differences(vectors[name], expected)["max_difference"],
            "peak_megabytes": record.peak_megabytes,
        }
    return rows


def table(rows: dict) -> str:
    return markdown(
        ["", "texts/s", "largest difference", "peak MB"],
        [
            [
                name,
                f"{row['texts_per_second']:.0f}",
                f"{row['max_difference']:.1g}",
                f"{row['peak_megabytes']:,.0f}",
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
