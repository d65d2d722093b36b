"""Byte-level BPE and unigram models learned from text: complete, the same every time, and useful."""

import hashlib
import os
import subprocess
import sys

import pytest
import tensorflow as tf
from tokenizers import Tokenizer

from kbert.checkpoints.hugging_face.tokenizer import write_tokenizer
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS
from kbert.tokenization.tokenizer import build_tokenizer
from tests.places import REPOSITORY
from tfrecords_tools.corpus.documents import TextFormat
from tfrecords_tools.vocabulary import tokenizer_learners
from tfrecords_tools.vocabulary.tokenizer_learners import (
    learn_bpe,
    learn_tokenizer,
    learn_unigram,
)

# Many words occur equally often: that is where order could be left to chance.
WORDS = [f"{a}{b}{c}" for a in "abcdefg" for b in "aeiou" for c in "lmnrst"]
LINES = [" ".join(WORDS[i : i + 9]) + ", Straße und 漢字." for i in range(0, len(WORDS), 3)] * 2
LEARN = {"bpe": learn_bpe, "unigram": learn_unigram}
SIZES = {"bpe": 330, "unigram": 80}


@pytest.mark.parametrize("kind", LEARN)
def test_special_tokens_are_robertas_and_the_size_is_the_wanted(kind):
    vocabulary = LEARN[kind](LINES, SIZES[kind])
    assert len(vocabulary) == SIZES[kind] == len(set(vocabulary.tokens))
    assert vocabulary.tokens[:4] == ("<s>", "<pad>", "</s>", "<unk>")
    assert vocabulary.mask_id == SIZES[kind] - 1
    if kind == "bpe":
        assert vocabulary.tokens[4:260] == BYTE_CHARACTERS


@pytest.mark.parametrize("kind", LEARN)
def test_fewer_tokens_than_asked_for_are_said(kind, tmp_path, caplog):
    file = tmp_path / "corpus.txt"
    file.write_text("\n".join(LINES))
    for size in (SIZES[kind], 5000):
        vocabulary, _ = learn_tokenizer(kind, [file], TextFormat(), size, min_frequency=2)
        said = f"The corpus gives only {len(vocabulary)} tokens, but {size} were asked for"
        assert (said in caplog.text) is (size == 5000)
        assert ("--tokenizer=unigram" in caplog.text) is (size == 5000 and kind == "bpe")  # for vowel signs


@pytest.mark.parametrize("kind", LEARN)
def test_a_text_beyond_memory_is_said_before_the_work(kind, tmp_path, monkeypatch, caplog):
    """sentencepiece was killed after an hour, without a word."""
    monkeypatch.setattr(tokenizer_learners, "_MUCH_TEXT", 1000)
    for number in (1, len(LINES)):
        (tmp_path / "corpus.txt").write_text("\n".join(LINES[:number]))
        learn_tokenizer(kind, [tmp_path / "corpus.txt"], TextFormat(), SIZES[kind], min_frequency=2)
        assert ("such as shuf" in caplog.text) is (kind == "unigram" and number > 1)


def test_rare_pairs_are_not_merged():
    few, many = (len(learn_bpe(LINES, 1000, min_frequency).merges) for min_frequency in (2, 60))
    assert many < few


@pytest.mark.parametrize("kind", LEARN)
def test_the_learned_tokenizer_gives_the_ids_of_the_package_tokenizers(kind, tmp_path):
    vocabulary = LEARN[kind](LINES, SIZES[kind])
    write_tokenizer(tmp_path, vocabulary)
    theirs = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    texts = [*LINES[:20], "", "  two  spaces ", "unknown wörds don't!"]
    expected = [theirs.encode(text, add_special_tokens=False).ids for text in texts]
    assert build_tokenizer(vocabulary)(tf.constant(texts)).to_list() == expected
    # Fewer pieces than characters: something was learned.
    assert sum(map(len, expected[:20])) < sum(map(len, LINES[:20])) * 0.8


PROGRAM = """
import hashlib, sys
from tfrecords_tools.vocabulary.tokenizer_learners import learn_bpe, learn_unigram
lines = sys.stdin.read().splitlines()
vocabulary = {"bpe": learn_bpe, "unigram": learn_unigram}[sys.argv[1]](lines, int(sys.argv[2]))
print(hashlib.sha256(b"\\0".join(vocabulary.files().values())).hexdigest())
"""


@pytest.mark.parametrize("kind", LEARN)
def test_every_process_learns_the_same_bytes(kind):
    vocabulary = LEARN[kind](LINES, SIZES[kind])
    expected = hashlib.sha256(b"\0".join(vocabulary.files().values())).hexdigest()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": seed, "PYTHONUTF8": "1"}
        command = [sys.executable, "-c", PROGRAM, kind, str(SIZES[kind])]
        result = subprocess.run(
            command,
            cwd=REPOSITORY,
            env=environment,
            input="\n".join(LINES),
            capture_output=True,
            encoding="utf-8",
        )
        assert result.stdout.split() == [expected], result.stderr


def test_long_lines_are_learned_from_too():
    """sentencepiece by itself leaves out lines of more than 4,192 bytes."""
    line = " ".join(LINES * 4)
    assert len(line) > 5000
    assert len(learn_unigram([line], 80)) == 80


def test_a_unigram_model_knows_rare_characters_of_a_text_in_few(caplog):
    """Digits, brackets and capitals of a novel are less than one character of 2,000: each was <unk>."""
    lines = [line.lower() for line in LINES] * 40
    rare = "0123456789QXZ()[]$%&,ÄЯ～\"'="
    assert set(rare) <= {*learn_unigram([*lines, rare], 300).tokens} and not caplog.text
    learn_unigram([*lines, "".join(map(chr, range(0x4E00, 0x4E80)))], 200)
    assert "rare characters are unknown tokens, 0." in caplog.text


def test_a_line_with_the_reserved_character_of_sentencepiece_is_learned_from():
    """Block elements draw bars: sentencepiece by itself leaves such lines out."""
    bars = [f"{line} \u2585\u2585 quartz" for line in LINES]
    assert learn_unigram(bars, 80).model == learn_unigram([f"{line}    quartz" for line in LINES], 80).model


@pytest.mark.parametrize(
    "error", [ValueError("line 2 is not UTF-8"), OSError(5, "disk"), KeyboardInterrupt()]
)
@pytest.mark.parametrize("kind", LEARN)
def test_what_reading_the_lines_raises_comes_out_as_it_is(kind, error):
    def lines():
        yield LINES[0]
        raise error

    with pytest.raises(type(error)) as raised:
        LEARN[kind](lines(), 400)
    assert raised.value is error


@pytest.mark.parametrize("text", ["\u200b\u200b", "\u2585", " "])
def test_a_text_without_characters_has_no_words(text):
    with pytest.raises(ValueError, match="the input files hold no words"):
        learn_unigram([text] * 20, 80)


@pytest.mark.parametrize("vocab_size", range(1, 9))
def test_a_unigram_model_that_is_too_small_says_how_many_tokens_it_needs(vocab_size):
    def learn(size):
        return learn_unigram(["abab ba"] * 9, size)

    if vocab_size < 8:
        with pytest.raises(
            ValueError, match=rf"vocab_size={vocab_size} is too small for a unigram model.* [78]\."
        ):
            learn(vocab_size)
    else:
        assert len(learn(vocab_size)) == 8
