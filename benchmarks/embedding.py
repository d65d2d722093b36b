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

from benchmarks.answers import compare_answers, mixed_texts
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
    compare_answers("embedding", names, settings, "hugging_face/float32")


if __name__ == "__main__":
    define_flags()
    script.run(main)
