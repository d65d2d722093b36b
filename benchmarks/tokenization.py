r"""Benchmark: text -> ids, kbert beside Hugging Face tokenizers, nanotoken, SentencePiece and TF-Text.

  make bench-peers
  python -m benchmarks.tokenization --threads=1
  python -m benchmarks.tokenization --input_files='corpus/*.txt' --vocab_file=vocab.txt
  python -m benchmarks.tokenization --threads=1 --contestants='*/bpe+*' --bpe_folder=roberta-base
  python -m benchmarks.tokenization --threads=1 --contestants='*/sentencepiece+*' \
    --sentencepiece_model=xlm-roberta-base/sentencepiece.bpe.model

Without --input_files it reads the documentation that comes with CPython; without --vocab_file it learns
one from the text. kbert and TF-Text map over batches by tf.data, as training does; kbert/core_ops has no op
of TF-Text. kbert/data_tools cuts a corpus, on one thread, and has seen nothing before in each round. Hugging
Face's `encode_batch` keeps offsets and masks as well; `encode_batch_fast` leaves the offsets out. nanotoken
keeps a memory of words, as the data tools do; "+cold" empties it before each round. Each is a
process of its own with as many threads, and works while the others wait; the first round is not timed.

Byte-level BPE and SentencePiece stand beside the packages that kbert installs for them, in batches of 32
lines and line by line ("+32", "+1").

The table also says on how many lines the ids are not kbert's: of the text, and of lines that each test a rule
of the original BERT. The closing sentence is about the peers with kbert's ids on all of the latter; if there
are none, about Hugging Face.
"""

import itertools
import random
import statistics
import tempfile
from pathlib import Path

from absl import flags

from benchmarks.corpora import text_files, vocabulary_file
from benchmarks.report import beside_best_peer, close, machine, markdown
from benchmarks.workers.contestants import alternate, started
from benchmarks.workers.environments import chosen_contestants, define_contestant_flags, parts_of
from kbert.cli import script
from kbert.files.text_file import read_lines
from tfrecords_tools.corpus.corpus_files import input_files

FLAGS = flags.FLAGS

CONTESTANTS = (
    "kbert/WordPieceTokenizer",
    "kbert/core_ops",
    "kbert/data_tools",
    "tf_text/BertTokenizer",
    "tf_text/FastBertTokenizer",
    "hugging_face/encode_batch",
    "hugging_face/encode_batch_fast",
    "nanotoken/encode_batch",
    "nanotoken/encode_batch+cold",
)
# One kind at a time: ids are compared with those of the first.
_OTHER_KINDS = tuple(
    f"{system}/{kind}+{lines}"
    for kind in ("bpe", "sentencepiece")
    for lines in (32, 1)
    for system in ("kbert", "packages")
)

# Each line tests a rule of the original BERT on which tokenizers have been seen to differ.
ADVERSARIAL = (
    "", "The plainest line there is.", "naïve café, Ångström", "e\u0301 a\u030a o\u0302\u0323",
    "ΑΣ ΣΑΣ Σ", "İstanbul ISIK ı", "Straße GROẞ", "ﬁne ½ Ⅳ ™ ª", "\uff21\uff22 \uff11\uff12 \uff71",
    "ne\u2028w\u2029lines", "con\x00tr\x07ol\x7f \x85 \x0b tab\there",
    "so\u00adft zero\u200bwidth \ufeffmark \u202aformat", "un\ufffdknown \ue000 private",
    "的a學b \uf900 \U00020000", "한국어 ガ \u314e\u1112 \u1112\u1161\u11ab",
    "\uff01\uff0c\u3002\uff1f\u3001\u300c",
    "\u3000wide\u2003spaces\xa0", "$+<=>^`|~ €°§", "“quoted” — and… ‘so’", "😀❤\ufe0f👩\u200d💻",
    "[MASK] [CLS] [UNK] ##ing", "a" * 101, "ab" * 100, "abc" * 67, "é" * 60, "กำ คำ", "हिन्दी भाषा",
    "\u0130\u0307 \u01c5 \u01c4", "\u1e9b\u0323 \u212a \u212b \u2126",
)  # fmt: skip


def define_flags():
    define_contestant_flags((*CONTESTANTS, *_OTHER_KINDS), CONTESTANTS)
    flags.DEFINE_string("input_files", None, "Text files, globs allowed; by default CPython's documentation.")
    flags.DEFINE_string("vocab_file", None, "An uncased vocab.txt; by default one learned from the text.")
    flags.DEFINE_string("bpe_folder", None, "A folder with vocab.json and merges.txt, for */bpe+*.")
    flags.DEFINE_string("sentencepiece_model", None, "A SentencePiece model, for */sentencepiece+*.")
    flags.DEFINE_float("megabytes", 4.0, "Text to tokenize, lines drawn at random.", lower_bound=0.01)
    flags.DEFINE_integer("rounds", 5, "Timed runs of every contestant.", lower_bound=1)


def main():
    names = chosen_contestants((*CONTESTANTS, *_OTHER_KINDS))
    files_of_kinds = {"bpe_folder": FLAGS.bpe_folder, "sentencepiece_model": FLAGS.sentencepiece_model}
    require_files(names, files_of_kinds)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = text_files(FLAGS.input_files, folder)
        vocab_file = None
        if set(names) & set(CONTESTANTS):
            vocab_file = vocabulary_file(FLAGS.vocab_file, files, 8000, folder)
        lines = draw_lines(
            [line for file in input_files(files) for line in map(str.strip, read_lines(file)) if line],
            FLAGS.megabytes * 1e6,
        )
        lines_file = Path(folder, "drawn.txt")
        lines_file.write_text("\n".join(lines), encoding="utf-8")
        settings = {"vocab_file": vocab_file, "lines_file": str(lines_file), "adversarial": ADVERSARIAL}
        settings |= files_of_kinds
        with started(names, "tokenization", settings | {"rounds": FLAGS.rounds + 1}) as workers:
            alternate(workers, None, 1)
            rows = figures(
                {worker.name: worker.record for worker in workers}, lines_file.stat().st_size / 1e6
            )
    print(table(rows))
    print(beside_best_peer({name: rows[name]["megabytes_per_second"] for name in compared(rows)}))
    close("tokenization", rows)


def require_files(names, files: dict):
    """Raises ValueError for contestants of more than one kind, and for a kind whose file is missing."""
    parts = {name: parts_of(name) for name in names}
    kinds = {parts[name][1] if name in _OTHER_KINDS else "wordpiece" for name in names}
    if len(kinds) > 1:
        raise ValueError(f"--contestants are of {', '.join(sorted(kinds))}; choose those of one kind.")
    for flag, path in files.items():
        if flag.startswith(kinds.copy().pop()) and path is None:
            raise ValueError(f"--contestants={','.join(names)} need --{flag}.")


def draw_lines(lines, num_bytes) -> list[str]:
    """Random lines, always the same ones, until there are `num_bytes`; all lines if there are fewer."""
    lines = random.Random(0).sample(lines, len(lines))
    ends = itertools.accumulate(len(line.encode("utf-8")) for line in lines)
    return lines[: 1 + sum(end < num_bytes for end in ends)]


def figures(records: dict, megabytes: float) -> dict:
    """name -> speeds, and lines with other ids than those of the first contestant."""
    expected = next(iter(records.values())).result
    rows = {}
    for name, record in records.items():
        speeds = sorted(megabytes / step["seconds"] for step in record.steps[1:])
        cpu_seconds = statistics.median(step["cpu_seconds"] for step in record.steps[1:])
        rows[name] = {
            "megabytes_per_second": statistics.median(speeds),
            "slowest": speeds[0],
            "fastest": speeds[-1],
            "megabytes_per_cpu_second": megabytes / cpu_seconds,
        } | {
            f"other_{kind}": sum(ids != right for ids, right in zip(found, expected[kind], strict=True))
            for kind, found in record.result.items()
        }
    return rows


def compared(rows: dict) -> list[str]:
    """kbert and the peers with its ids on every adversarial line; Hugging Face where there are none."""
    equal = [name for name, row in rows.items() if row["other_adversarial"] == 0]
    if any(not name.startswith("kbert") for name in equal):
        return equal
    return [name for name in rows if not name.startswith("tf_text")]


def table(rows: dict) -> str:
    heads = ["", "MB/s", "slowest to fastest", "MB per CPU second", "lines with other ids"]
    return markdown(
        [*heads, f"of {len(ADVERSARIAL)} adversarial lines"],
        [
            [
                name,
                f"{row['megabytes_per_second']:.2f}",
                f"{row['slowest']:.1f} to {row['fastest']:.1f}",
                f"{row['megabytes_per_cpu_second']:.2f}",
                f"{row['other_lines']:,}",
                row["other_adversarial"],
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
