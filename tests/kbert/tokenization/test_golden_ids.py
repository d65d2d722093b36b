"""Ids against the rules of the original: a sample that is always there, and stored ids where they are."""

import gzip
import json

import pytest
import tensorflow as tf

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.conftest import mostly_long
from tests.kbert.tokenization import texts
from tests.places import SHARED_DATA

pytestmark = pytest.mark.usefixtures("both_text_ops")
CASING = {"uncased": True, "cased": False, "multi_cased": False, "chinese": True}
WORDS = "the quick brown fox jump over lazy dog un aff play word piece caf cafe stanbul it don really".split()
INNER = "##able ##ed ##s ##ing ##ff ##aff ##ABLE ##piece ##e ##xx ##x".split()


def sample_vocabulary() -> list[str]:
    """Pieces for the sample: words and parts of words, and single characters of every script but a few."""
    return list(dict.fromkeys([*texts.vocabulary_tokens(), *WORDS, *INNER, *"xyzXTUNIfgnrtuw", "##w", "The"]))


@pytest.mark.parametrize("name", mostly_long(CASING, ("uncased", "cased")))
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

    mapped = tf.data.Dataset.from_tensor_slices(texts).batch(64).map(tokenizer)
    found = [ids for batch in mapped for ids in batch.to_list()]
    assert [text for text, a, b in zip(texts, found, expected, strict=True) if a != b] == []
