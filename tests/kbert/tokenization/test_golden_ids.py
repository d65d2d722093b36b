"""Ids computed with the original code, where the development data lie beside the project."""

import gzip
import json
from pathlib import Path

import pytest
import tensorflow as tf

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer

SHARED_DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
CASING = {"uncased": True, "cased": False, "multi_cased": False, "chinese": True}


@pytest.mark.parametrize("name", CASING)
def test_ids_equal_the_originals(name):
    golden = SHARED_DATA / "golden" / "tokenization" / f"{name}.jsonl.gz"
    if not golden.is_file():
        pytest.skip(f"NOT COMPARED WITH THE ORIGINAL TOKENIZER: {golden} is not there.")
    with gzip.open(golden, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    vocabulary = Vocabulary.from_file(SHARED_DATA / "vocab" / f"bert_{name}" / "vocab.txt", CASING[name])
    tokenizer = WordPieceTokenizer(vocabulary)
    texts = [row["text"].encode("utf-8", "surrogatepass") for row in rows]
    expected = [row["ids"] for row in rows]

    eager = tokenizer(tf.constant(texts)).to_list()
    assert [text for text, a, b in zip(texts, eager, expected, strict=True) if a != b] == []

    mapped = tf.data.Dataset.from_tensor_slices(texts).batch(64).map(tokenizer)
    in_pipeline = [ids for batch in mapped for ids in batch.to_list()]
    assert in_pipeline == expected
