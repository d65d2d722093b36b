r"""Benchmark: text -> WordPiece vocabulary, kbert beside Hugging Face's trainer.

  python -m benchmarks.vocabulary
  python -m benchmarks.vocabulary --input_files='novels/*.txt' --vocab_sizes=8000,30522

Contestants are whole processes on the same cores, run in turn; the table has medians. It also shows how well
the vocabularies fit text that neither has seen: the share of unknown words, and the pieces per word of the
words that both know, cut by the original BERT's rules. Every sixth input file is held out; --other_files are
text of another kind. Without --input_files the text is the quickstart's, documentation of CPython. Both
vocabularies have exactly the same size, special tokens included (so kbert's [unused] tokens are left out).
"""

import lzma
import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.figures import closing_line
from benchmarks.tokenization import TEXT
from benchmarks.workers import process_tree
from kbert import command_line
from tfrecords_tools.corpus.documents import input_files
from tfrecords_tools.vocabulary.greedy_match import GreedyMatcher, coverage

FLAGS = flags.FLAGS
HELD_OUT_OF = 6


class Fit(NamedTuple):
    """How well a vocabulary fits a text."""

    pieces_per_word: float
    unknown_percent: float


def define_flags():
    flags.DEFINE_string("input_files", None, "Text files, globs allowed; by default CPython's documentation.")
    flags.DEFINE_string("other_files", None, "Text of another kind to cut up, globs allowed.")
    flags.DEFINE_list("vocab_sizes", ["2000", "6000"], "Sizes to learn.")
    flags.DEFINE_integer("cores", 2, "Cores for each contestant.", lower_bound=1)
    flags.DEFINE_integer("repetitions", 3, "Timed runs of every contestant.", lower_bound=1)
    flags.DEFINE_string(
        "peers_python", sys.executable, "A Python with the package tokenizers, by default this one."
    )


def main(argv):
    del argv
    with tempfile.TemporaryDirectory() as folder:
        files = input_files(FLAGS.input_files) if FLAGS.input_files else documentation_files(folder)
        held_out = files[::HELD_OUT_OF]
        training = [file for file in files if file not in set(held_out)]
        if not training:
            raise ValueError(f"one file cannot be held out of {len(files)}; give at least two.")
        texts = {"training": training, "held out": held_out}
        if FLAGS.other_files:
            texts["other"] = input_files(FLAGS.other_files)
        sizes = {name: sum(file.stat().st_size for file in files) for name, files in texts.items()}
        print(
            ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()),
            f"; {FLAGS.cores} cores, medians of {FLAGS.repetitions} runs",
            sep="",
            flush=True,
        )
        results = {}
        for vocab_size in map(int, FLAGS.vocab_sizes):
            costs = {"kbert": [], "Hugging Face": []}
            for repetition in range(FLAGS.repetitions):
                order = list(costs.items())[:: 1 if repetition % 2 == 0 else -1]
                for name, found in order:
                    found.append(_contestants[name](training, f"{folder}/{name}.txt", vocab_size))
            counts = counted_words(texts)
            vocabularies = {name: read_vocabulary(f"{folder}/{name}.txt", vocab_size) for name in costs}
            fits = vocabulary_fits(vocabularies, counts)
            results[vocab_size] = {name: result(found, fits[name]) for name, found in costs.items()}
    print(table(results))
    closing_line.close("vocabulary", summary(results))


def documentation_files(folder) -> list[Path]:
    """CPython's documentation as text, twelve documents a file."""
    documents = lzma.decompress(TEXT.read_bytes()).decode("utf-8").split("\n\n")
    files = []
    for start in range(0, len(documents), 12):
        file = Path(folder, f"documentation_{start:05d}.txt")
        file.write_text("\n".join(documents[start : start + 12]) + "\n", encoding="utf-8")
        files.append(file)
    return files


# ------------------------------------------------------------------------------ contestants


def _kbert(files, output_file, vocab_size):
    command = [
        *(sys.executable, "-m", "tfrecords_tools.build_vocabulary", "--overwrite"),
        *(f"--input_files={','.join(map(str, files))}", f"--output_file={output_file}"),
        *(f"--vocab_size={vocab_size}", "--num_unused_tokens=0", f"--num_workers={FLAGS.cores}"),
    ]
    return process_tree.run(command, FLAGS.cores, cwd=REPOSITORY)


def _hugging_face(files, output_file, vocab_size):
    command = [
        *(FLAGS.peers_python, str(REPOSITORY / "benchmarks" / "peers" / "hugging_face_vocabulary.py")),
        *("--input_files", *map(str, files), f"--output_file={output_file}", f"--vocab_size={vocab_size}"),
    ]
    threads = {"RAYON_NUM_THREADS": str(FLAGS.cores), "TOKENIZERS_PARALLELISM": "true"}
    return process_tree.run(command, FLAGS.cores, env=threads)


_contestants = {"kbert": _kbert, "Hugging Face": _hugging_face}


# ------------------------------------------------------------------------------ what came out


def counted_words(texts) -> dict:
    """Text -> how often each of its words occurs."""
    from tfrecords_tools.vocabulary.word_counter import count_words

    return {name: count_words(files, do_lower_case=True).counts for name, files in texts.items()}


def read_vocabulary(vocab_file, vocab_size) -> list[str]:
    """The pieces of a file.

    Raises:
      ValueError: when there are more or fewer than asked for.
    """
    tokens = Path(vocab_file).read_text(encoding="utf-8").split("\n")[:-1]
    if len(tokens) != vocab_size:
        raise ValueError(
            f"{vocab_file} has {len(tokens)} pieces instead of {vocab_size}: the text gives no more; ask for "
            "smaller --vocab_sizes."
        )
    return tokens


def vocabulary_fits(vocabularies, counts) -> dict[str, dict[str, Fit]]:
    """Contestant -> text -> how well the contestant's vocabulary fits it."""
    fits = {name: {} for name in vocabularies}
    matchers = [GreedyMatcher(tokens) for tokens in vocabularies.values()]
    for text, words in counts.items():
        # An unknown word is one piece, so a vocabulary that knows less would seem to need fewer.
        known = {word: count for word, count in words.items() if all(matcher(word) for matcher in matchers)}
        for name, tokens in vocabularies.items():
            covered, of_all = coverage(known, tokens), coverage(words, tokens)
            unknown_percent = 100 * of_all.num_unknown / of_all.num_words
            fits[name][text] = Fit(covered.num_pieces / covered.num_words, unknown_percent)
    return fits


def result(costs, fits) -> dict:
    return {
        "seconds": statistics.median(cost.seconds for cost in costs),
        "spread": [min(cost.seconds for cost in costs), max(cost.seconds for cost in costs)],
        "megabytes": statistics.median(cost.megabytes for cost in costs),
        "fits": fits,
    }


def table(results) -> str:
    """A row for every size and contestant."""
    texts = list(next(iter(results.values()))["kbert"]["fits"])
    head = f"{'pieces':>8}  {'contestant':<14}{'seconds':>9}{'from to':>16}{'peak MB':>9}"
    lines = [head + "".join(f"{f'{text}: per word':>20}{'unknown %':>11}" for text in texts)]
    for vocab_size, contestants in results.items():
        for name, facts in contestants.items():
            first, last = facts["spread"]
            line = f"{vocab_size:>8,}  {name:<14}{facts['seconds']:>9.1f}{f'{first:.1f} to {last:.1f}':>16}"
            line += f"{facts['megabytes']:>9.0f}"
            for fit in facts["fits"].values():
                line += f"{fit.pieces_per_word:>20.4f}{fit.unknown_percent:>11.4f}"
            lines.append(line)
    return "\n".join(lines)


def summary(results) -> dict:
    """The closing JSON. "ratio" is how many times faster kbert was, for the last size."""
    last = list(results.values())[-1]
    by_contestant = {
        name: {size: _rounded(contestants[name]) for size, contestants in results.items()} for name in last
    }
    return {
        "kbert": by_contestant.pop("kbert"),
        "peers": by_contestant,
        "ratio": round(last["Hugging Face"]["seconds"] / last["kbert"]["seconds"], 2),
        "ratio_to": "Hugging Face",
    }


def _rounded(facts):
    fits = {
        text: {
            "pieces_per_word": round(fit.pieces_per_word, 5),
            "unknown_percent": round(fit.unknown_percent, 5),
        }
        for text, fit in facts["fits"].items()
    }
    return {"seconds": round(facts["seconds"], 1), "megabytes": round(facts["megabytes"])} | fits


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
