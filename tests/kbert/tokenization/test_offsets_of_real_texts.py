"""Offsets on real texts: the golden texts of the tokenizer and the passages of XQuAD, in four languages."""

import gzip
import json
from pathlib import Path

import pytest
import tensorflow as tf

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization import reference_offsets
from tests.kbert.tokenization.test_golden_ids import CASING
from tests.kbert.tokenization.test_offsets import rows_of
from tests.kbert.tokenization.unicode_residue import residue

pytestmark = pytest.mark.slow

SHARED_DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


def needed(path):
    if not path.is_file():
        pytest.skip(f"OFFSETS NOT CHECKED ON REAL TEXTS: {path} is not there.")
    return path


def check_offsets(tokenizer, rows):
    """Ids are those of a plain call, and places those of the reference."""
    vocabulary = tokenizer.vocabulary
    pieces = tokenizer.with_offsets(tf.constant(rows))
    assert pieces.ids.to_list() == tokenizer(tf.constant(rows)).to_list()
    for row, received in zip(rows, rows_of(pieces), strict=True):
        text = row.decode("utf-8", errors="ignore")
        expected = reference_offsets.pieces(text, vocabulary.ids, vocabulary.do_lower_case)
        expected = [(vocabulary.ids[piece], *place) for piece, *place in expected]
        if residue().uncased.isdisjoint(text):
            assert received == expected, ascii(text)
    return sum(len(received) for received in rows_of(pieces))


@pytest.mark.parametrize("name", ["uncased", "multi_cased"])
def test_places_in_the_golden_texts(name):
    golden = needed(SHARED_DATA / "golden" / "tokenization" / f"{name}.jsonl.gz")
    with gzip.open(golden, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    vocabulary = Vocabulary.from_file(SHARED_DATA / "vocab" / f"bert_{name}" / "vocab.txt", CASING[name])
    tokenizer = WordPieceTokenizer(vocabulary)
    texts = [row["text"].encode("utf-8", "surrogatepass") for row in rows]
    assert tokenizer.with_offsets(tf.constant(texts)).ids.to_list() == [row["ids"] for row in rows]
    assert check_offsets(tokenizer, texts) > 10_000


@pytest.mark.parametrize(
    ("language", "name"),
    [("ar", "multi_cased"), ("en", "uncased"), ("hi", "multi_cased"), ("zh", "multi_cased")],
)
def test_places_in_passages_and_the_answers_in_them(language, name):
    articles = json.loads(needed(SHARED_DATA / "xquad" / f"xquad.{language}.json").read_text("utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    vocabulary = Vocabulary.from_file(SHARED_DATA / "vocab" / f"bert_{name}" / "vocab.txt", CASING[name])
    contexts = [paragraph["context"].encode("utf-8") for paragraph in paragraphs]
    tokenizer = WordPieceTokenizer(vocabulary)
    assert len(contexts) > 100
    assert check_offsets(tokenizer, contexts) > 10_000

    num_answers = 0
    for paragraph, row in zip(
        paragraphs, rows_of(tokenizer.with_offsets(tf.constant(contexts))), strict=True
    ):
        for question in paragraph["qas"]:
            for answer in question["answers"]:
                first, last = answer["answer_start"], answer["answer_start"] + len(answer["text"])
                own = [(start, end) for _, start, end, _ in row if start < last and end > first]
                source = paragraph["context"][own[0][0] : own[-1][1]]
                assert answer["text"].strip() in source, answer
                num_answers += 1
    assert num_answers > 500
