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
from tfrecords_tools.vocabulary.tokenizer_learners import learn_bpe, learn_unigram, unknown_share

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


@pytest.mark.parametrize("kind", LEARN)
def test_the_share_of_unknown_tokens_is_that_of_the_graph(kind, tmp_path):
    lines = [*LINES, "龘 rare ☃☃ characters"]
    file = tmp_path / "corpus.txt"
    file.write_text("\n".join(lines))
    vocabulary = LEARN[kind](lines, SIZES[kind])
    ids = [index for row in build_tokenizer(vocabulary)(tf.constant(lines)).to_list() for index in row]
    share = unknown_share(vocabulary, [file], TextFormat())
    assert share == ids.count(vocabulary.ids["<unk>"]) / len(ids)
    assert (share > 0) is (kind == "unigram")
