"""A text counts as truncated just where a piece of it stands in none of its rows."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.features import WINDOW_FEATURE
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.long_texts import HeadAndTailInputs, WindowInputs, window_owners
from kbert.tokenization.python import text_inputs as python_text_inputs
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary

WORDS = [f"w{number}" for number in range(60)]
INPUTS = TextInputs(Vocabulary([*BERT_TOKENS, *WORDS], True), max_seq_length=9)
READERS = {
    "cut": INPUTS,
    "head_tail": HeadAndTailInputs(INPUTS),
    "windows": WindowInputs(INPUTS),
}
LENGTHS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20]


def missing(rows, texts, reader):
    """For each text (or pair as one text) whether one of its words, which are all different, is in no row."""
    ids = rows.features["input_ids"].numpy()
    owners = range(len(ids))
    if reader == "windows":
        owners = window_owners(rows.features[WINDOW_FEATURE]).numpy()
    seen = [set() for _ in texts]
    for owner, row in zip(owners, ids, strict=True):
        seen[owner] |= {INPUTS.vocabulary.tokens[index] for index in row}
    return [not set(text.split()) <= words for text, words in zip(texts, seen, strict=True)]


def test_a_length_of_numpy():
    texts = ["w0 w1", " ".join(WORDS)]
    ids = TextInputs(INPUTS.vocabulary, np.int64(9))(texts)["input_ids"]
    assert np.array_equal(ids, INPUTS(texts)["input_ids"])


@pytest.mark.parametrize("text_inputs", [TextInputs, python_text_inputs.TextInputs])
def test_a_text_alone_is_not_taken_apart(text_inputs):
    read = text_inputs(INPUTS.vocabulary, 9)
    for texts in ("w0 w1", (["w0"], "w1")):
        with pytest.raises(ValueError, match=r" is one text \('w.*put it into a list"):
            read(*(texts if isinstance(texts, tuple) else [texts]))


@pytest.mark.parametrize("reader", READERS)
def test_of_single_texts(reader):
    texts = [" ".join(WORDS[:length]) for length in LENGTHS]
    rows = READERS[reader].rows(tf.constant(texts))
    assert rows.truncated.numpy().tolist() == missing(rows, texts, reader)
    assert rows.truncated.numpy().any() == (reader != "windows")


@pytest.mark.parametrize("reader", READERS)
def test_of_pairs(reader):
    pairs = [(" ".join(WORDS[:one]), " ".join(WORDS[30 : 30 + two])) for one in LENGTHS for two in LENGTHS]
    first, second = (tf.constant(column) for column in zip(*pairs, strict=True))
    rows = READERS[reader].rows(first, second)
    assert rows.truncated.numpy().tolist() == missing(rows, [" ".join(pair) for pair in pairs], reader)
    assert rows.truncated.numpy().any() and not rows.truncated.numpy().all()
    called = READERS[reader](first, second, pad_to_longest=True)
    for name, value in rows.features.items():
        tf.debugging.assert_equal(called[name], value)


def test_of_tokenized_texts_and_masks():
    texts = tf.constant(["[MASK] w1 w2 w3 w4 w5 w6", "[MASK] w1 w2 w3 w4 w5 w6 w7"])
    rows = INPUTS.rows(texts, with_masks=True)
    assert rows.truncated.numpy().tolist() == [False, True]
    again = INPUTS.pack_tokens(INPUTS.tokenizer.tokenize_with_masks(texts))
    assert again.truncated.numpy().tolist() == [False, True]
    tf.debugging.assert_equal(again.features["input_ids"], rows.features["input_ids"])
