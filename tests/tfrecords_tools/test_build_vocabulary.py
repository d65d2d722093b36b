"""Corpus -> vocab.txt: what is counted, what is written, and how it ends when something is wrong."""

import gzip
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from absl import flags
from absl.testing import flagsaver

from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.tokenization import reference_tokenizer
from tfrecords_tools import build_vocabulary
from tfrecords_tools.build_vocabulary import count_words, coverage, drop_rarest

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = """The cat sat, and the Café was full.

Zwei Straßen\u3000weiter: 的学 again; the cat sat.
"""


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_the_words_counted_are_those_wordpiece_sees(corpus, do_lower_case):
    expected = Counter(reference_tokenizer.split_words(TEXT, do_lower_case))
    assert count_words([corpus], do_lower_case, max_words_in_memory=1000).counts == expected


def test_batches_and_files_make_no_difference(corpus, tmp_path, monkeypatch):
    zipped = tmp_path / "more.txt.gz"
    zipped.write_bytes(gzip.compress(TEXT.encode("utf-8")))
    whole = count_words([corpus, zipped], True, 1000).counts
    monkeypatch.setattr(build_vocabulary, "BATCH_CHARACTERS", 10)
    assert count_words([corpus, zipped], True, 1000).counts == whole
    assert whole["cat"] == 4


def test_words_of_more_than_200_characters_are_left_out(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text(f"{'ж' * 200} {'ж' * 201} {'a' * 5000} b\n", encoding="utf-8")
    words = count_words([path], True, 1000)
    assert words.counts == {"ж" * 200: 1, "b": 1}
    assert words.num_dropped_long == 2


def test_the_memory_for_words_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(build_vocabulary, "BATCH_CHARACTERS", 200)
    path = tmp_path / "many.txt"
    path.write_text("".join(f"the cat word{i}\n" for i in range(300)), encoding="utf-8")
    words = count_words([path], True, max_words_in_memory=50)
    assert len(words.counts) <= 50
    assert words.counts["the"] == words.counts["cat"] == 300
    assert words.num_dropped_rare + len(words.counts) == 302


def test_whole_frequencies_are_dropped_so_that_order_does_not_matter():
    counts = Counter({"a": 1, "b": 2, "c": 2, "d": 3, "e": 9})
    assert drop_rarest(counts, keep=3) == 3
    assert counts == {"d": 3, "e": 9}


def test_coverage_counts_pieces_and_unknown_words():
    counts = {"play": 5, "playing": 2, "plays": 1}
    assert coverage(counts, ["[UNK]", "play", "##ing"]) == (8, 5 + 2 * 2 + 1, 1)


def test_coverage_agrees_with_the_reference_tokenizer():
    tokens = ["a", "ab", "##b", "##ba", "##abb", "b"]
    words = ["a", "ab", "abba", "aabb", "babba", "c", "abc", "b"]
    pieces = [reference_tokenizer.wordpieces(word, tokens) for word in words]
    expected = (len(words), sum(map(len, pieces)), sum(row == ["[UNK]"] for row in pieces))
    assert coverage(dict.fromkeys(words, 1), tokens) == expected


# ------------------------------------------------------------------------------ the script


@pytest.fixture(scope="module")
def script_flags():
    """The script's flags, taken out of absl's global table again for the other scripts' tests."""
    build_vocabulary.define_flags()
    yield
    for name in ("input_files", "output_file", "vocab_size", "do_lower_case", "min_frequency",
                 "num_unused_tokens", "alphabet_limit", "max_words_in_memory", "overwrite"):  # fmt: skip
        delattr(flags.FLAGS, name)


@pytest.fixture
def run_main(script_flags):
    """Runs `main` in this process; flags go back to their defaults afterwards."""

    def run(*arguments):
        flags.FLAGS(["build_vocabulary", *arguments])
        build_vocabulary.main(["build_vocabulary"])

    with flagsaver.flagsaver():
        yield run


def test_a_vocabulary_is_written_and_summed_up(corpus, tmp_path, run_main, capsys):
    output_file = tmp_path / "new" / "vocab.txt"
    run_main(
        f"--input_files={corpus}", f"--output_file={output_file}", "--vocab_size=60", "--num_unused_tokens=2"
    )
    vocabulary = Vocabulary.from_file(output_file, do_lower_case=True)
    assert len(vocabulary) == len(set(vocabulary.tokens)) <= 60
    assert vocabulary.tokens[:3] == ("[PAD]", "[unused0]", "[unused1]")
    assert {"the", "cat", "sat"} <= set(vocabulary.tokens)
    assert [path.name for path in output_file.parent.iterdir()] == ["vocab.txt"]

    printed = capsys.readouterr().out
    num_words = len(reference_tokenizer.split_words(TEXT, True))
    assert f"words: {num_words}, different: " in printed
    assert "unknown pieces: 0.0000 %" in printed


def test_an_existing_file_is_replaced_only_when_asked_for(corpus, tmp_path, run_main):
    output_file = tmp_path / "vocab.txt"
    output_file.write_text("precious")
    arguments = (f"--input_files={corpus}", f"--output_file={output_file}", "--vocab_size=200")
    with pytest.raises(FileExistsError, match=r"vocab\.txt exists; pass --overwrite"):
        run_main(*arguments)
    assert output_file.read_text() == "precious"
    run_main(*arguments, "--overwrite")
    assert len(Vocabulary.from_file(output_file, True)) > 104


def run_script(*arguments):
    command = [sys.executable, "-m", "tfrecords_tools.build_vocabulary", *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120)


# Each of these is found before TensorFlow is imported, so they are quick.
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--input_files={tmp}/nothing*.txt", "--output_file={tmp}/v.txt"], "nothing*.txt' matches no file"),
        (["--input_files={corpus}", "--output_file={tmp}"], "is a directory; name a file in it"),
        (["--input_files={corpus}", "--output_file={corpus}"], "exists; pass --overwrite"),
        (
            ["--input_files={corpus}", "--output_file={tmp}/v.txt", "--vocab_size=90"],
            "--vocab_size=90 has no room beside 5 special and 99 unused tokens",
        ),
        (["--output_file={tmp}/v.txt", "--input_files", "{corpus}", "b.txt"], "unexpected argument 'b.txt'"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_1(corpus, tmp_path, arguments, sentence):
    result = run_script(*(argument.format(tmp=tmp_path, corpus=corpus) for argument in arguments))
    assert result.returncode == 1
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert sentence in result.stderr
    assert not (tmp_path / "v.txt").exists()
