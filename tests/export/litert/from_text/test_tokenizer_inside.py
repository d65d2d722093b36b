"""Texts in, answers out, with TF-Text's ops in the file: its ids, where they are BERT's, and its answers."""

import numpy as np
import pytest
import tensorflow as tf

from export.litert.conversion import convert_to_litert
from export.litert.flatbuffer import checked_ops
from export.litert.from_text.other_reading import find_reasons, inside_reasons
from export.litert.from_text.tokenizer_inside import (
    CUSTOM_OPS,
    TextLiteRTModel,
    TokenizerInside,
    convert_with_tokenizer,
)
from export.litert.litert_model import LiteRTModel
from kbert.features import ENCODER_INPUTS
from kbert.tasks import TASKS
from kbert.tasks.signatures.signature import Signature, ids_inputs
from kbert.tokenization.base_vocabulary import ROBERTA_TOKENS
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.inference.random_model import random_task_model
from tests.kbert.tokenization.test_golden_ids import sample_vocabulary

pytestmark = pytest.mark.slow  # conversions

LENGTH = 16
ALIKE = [
    "ab cd",
    "Café",
    "",
    " \t",
    "a学b!",
    "abab " * 30,
    "a" * 200,
    "[MASK] ##ab",
    "é e\u0301",
    "\u00a0a\u3000b",
]
FOLDED, CONTROLS = "characters that folding changes, such as ½ ™ ß ς …", "controls, which split words"
OTHERS = {"a…b": [FOLDED], "x² ½": [FOLDED], "ß": [FOLDED], "a\x01b": [CONTROLS], "a\x00b": [CONTROLS]}
CASED_OTHERS = ["a\x01b", "a\u200bb"]


def echo(input_ids, input_mask, segment_ids):
    """The inputs themselves as numbers."""
    return {"inputs": tf.cast(tf.stack([input_ids, input_mask, segment_ids], axis=1), tf.float32)}


def echo_file(vocabulary, inputs, folder):
    """A file that answers with the ids of its tokenizer."""
    content = convert_with_tokenizer(
        Signature(ids_inputs(), echo), inputs, TokenizerInside(vocabulary, LENGTH), "float32"
    )
    path = folder / "echo.tflite"
    path.write_bytes(content)
    return path


def test_the_unknown_token_is_the_vocabularys():
    vocabulary = Vocabulary([*ROBERTA_TOKENS, "ab"], True, special_tokens=ROBERTA_TOKENS)
    found = TokenizerInside(vocabulary, LENGTH)(tf.constant(["x"]))["input_ids"]
    assert found[0, 1] == vocabulary.tokens.index(ROBERTA_TOKENS.unk)


def ids_of(path, *texts):
    """[texts, inputs, LENGTH], int32."""
    return TextLiteRTModel(path, 1)(*texts)["inputs"].astype(np.int32)


def exact(vocabulary, *texts):
    """The same by BERT's rules, as everywhere in kbert."""
    rows = TextInputs(vocabulary, LENGTH)(*map(tf.constant, texts))
    return np.stack([rows[name] for name in ENCODER_INPUTS], axis=1)


@pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])
def test_ids_are_those_of_bert_but_for_what_is_folded_or_split(tmp_path, do_lower_case):
    vocabulary = Vocabulary(sample_vocabulary(), do_lower_case)
    path = echo_file(vocabulary, ("text",), tmp_path)
    np.testing.assert_array_equal(ids_of(path, ALIKE), exact(vocabulary, ALIKE))
    assert (ids_of(path, ALIKE)[:, 0] > 4).sum() > 20, "pieces are found"
    others = list(OTHERS) if do_lower_case else CASED_OTHERS
    found, expected = ids_of(path, others), exact(vocabulary, others)
    assert (found != expected).any(axis=(1, 2)).all(), "these texts are listed in reports"
    tokenizer = TokenizerInside(vocabulary, LENGTH)  # which says so in reports, by TensorFlow's kernels
    rows = tokenizer(tf.constant(others))
    np.testing.assert_array_equal(found, np.stack([rows[name] for name in ENCODER_INPUTS], axis=1))
    reasons = inside_reasons(vocabulary.rules)
    assert [find_reasons(text, reasons) for text in others] == (
        list(OTHERS.values()) if do_lower_case else [[CONTROLS]] * 2
    )


def test_the_limit_of_a_word_is_the_vocabularys():
    vocabulary = Vocabulary(sample_vocabulary(), True, max_input_chars_per_word=100)
    texts = ["a" * 100, "a" * 101]
    rows = TokenizerInside(vocabulary, LENGTH)(tf.constant(texts))
    np.testing.assert_array_equal(rows["input_ids"], exact(vocabulary, texts)[:, 0])
    assert rows["input_mask"].numpy().sum(axis=1).tolist() == [LENGTH, 3]
    assert any("100 bytes" in reason for reason in find_reasons("é" * 100, inside_reasons(vocabulary.rules)))


def test_pairs_are_cut_and_packed_as_everywhere(tmp_path):
    vocabulary = Vocabulary(sample_vocabulary(), True)
    path = echo_file(vocabulary, ("text", "text_pair"), tmp_path)
    firsts, seconds = ALIKE, ALIKE[::-1]
    np.testing.assert_array_equal(ids_of(path, firsts, seconds), exact(vocabulary, firsts, seconds))
    with pytest.raises(ValueError, match="echo.tflite takes text and text_pair, received 1 of them"):
        ids_of(path, firsts)


@pytest.fixture(scope="module")
def classifier():
    return random_task_model(TASKS["sequence_classification"](("quiet", "loud")))


@pytest.mark.long
def test_answers_are_those_of_the_file_that_takes_ids(classifier, tmp_path):
    quantization = "dynamic_int8"  # tests/export/test_export_tflite.py has one in float32
    signature = classifier.task.serving.signatures(classifier.model, classifier.text_inputs)["ids"]
    tokenizer = TokenizerInside(classifier.vocabulary, LENGTH)
    contents = {
        "ids": convert_to_litert(signature, [LENGTH], quantization),
        "text": convert_with_tokenizer(signature, ("text",), tokenizer, quantization),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    texts = ["jump the a", "", "Walks, and JUMPED.", "play " * 40, "an unknown word"]
    expected = LiteRTModel(tmp_path / "ids", classifier.vocabulary)(texts)
    model = TextLiteRTModel(tmp_path / "text")
    assert model.inputs == ("text",) and model.outputs == ("logits", "probabilities")
    found = model(texts)
    for name, values in expected.items():
        assert found[name].dtype == np.float32 and np.ptp(values) > 0.01
        np.testing.assert_allclose(found[name], values, atol=1e-5)
        np.testing.assert_array_equal(model(texts[0])[name], found[name][0])

    assert [op for op in checked_ops(contents["text"], "", CUSTOM_OPS) if "CUSTOM" in op] == [
        f"CUSTOM {op}" for op in CUSTOM_OPS
    ]
    with pytest.raises(ValueError, match=f"a.tflite needs ops .* have: {', '.join(CUSTOM_OPS)}; nothing"):
        checked_ops(contents["text"], "a.tflite")
