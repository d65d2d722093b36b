r"""Benchmark: texts as a search needs them, `kbert.load` beside sentence-transformers: any of the four kinds.

 make bench-peers
 python -m benchmarks.search --init_checkpoint=FOLDER --num_texts=2000 --rounds=3

FOLDER is one of sentence-transformers, as `kbert convert --format=hugging_face` writes it: of one vector for
a text, of sparse vectors, of token vectors, or a cross-encoder. Each contestant gets the same texts of mixed
lengths in one call, tokenization included: they are embedded as documents and compared with two queries; a
cross-encoder reads them with a query. Each is a process of its own with as many threads, and works while the
other waits. The first round is not timed.

The table has texts a second, of the median round, and how the scores differ from sentence-transformers' in
float32, where that takes part, or from those of the first contestant.
"""

from absl import flags

from benchmarks.answers import compare_answers, mixed_texts
from benchmarks.workers.environments import chosen_contestants, define_contestant_flags
from kbert.cli import script

FLAGS = flags.FLAGS

CONTESTANTS = (
    "sentence_transformers/float32",
    "sentence_transformers/bfloat16",
    "kbert/float32",
    "kbert/bfloat16",
)


def define_flags():
    define_contestant_flags(CONTESTANTS, CONTESTANTS[1::2])
    flags.DEFINE_string("init_checkpoint", None, "Folder of sentence-transformers.")
    flags.mark_flags_as_required(["init_checkpoint"])
    flags.DEFINE_integer("num_texts", 1000, "Texts of a call.", lower_bound=2)
    flags.DEFINE_integer("rounds", 3, "Times that the texts are timed.", lower_bound=1)


def main():
    settings = {
        "folder": FLAGS.init_checkpoint,
        "batches": {FLAGS.num_texts: [mixed_texts(FLAGS.num_texts)]},
        "rounds": FLAGS.rounds + 1,
    }
    compare_answers("search", chosen_contestants(CONTESTANTS), settings, "sentence_transformers/float32")


if __name__ == "__main__":
    define_flags()
    script.run(main)
