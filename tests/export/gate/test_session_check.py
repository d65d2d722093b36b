import re

import numpy as np
import pytest
import tensorflow as tf

from export.gate.session_check import load_session, run_loaded, run_signature


@pytest.fixture(scope="module")
def model(asked_model_dir):
    return load_session(asked_model_dir)


def test_signature_answers_as_the_python_loader_does(asked_model_dir):
    texts = np.array([b"short", "a much longer text é".encode()], object)
    expected = tf.saved_model.load(asked_model_dir).signatures["serving_default"](text=tf.constant(texts))
    answer = run_signature(asked_model_dir, "serving_default", {"text": texts})
    np.testing.assert_allclose(answer["probabilities"], expected["probabilities"], atol=1e-6)
    assert answer["label"].tolist() == [b"short", b"long"]
    assert run_signature(asked_model_dir, "", {"text": texts}).keys() == answer.keys()


def test_keras_object_attached_passes_in_python_and_is_caught_here(keras_attached_dir):
    x = np.ones([1, 4], "f4")
    loaded = tf.saved_model.load(keras_attached_dir)
    assert loaded.signatures["serving_default"](x=tf.constant(x))["logits"].shape == (1, 2)
    with pytest.raises(ValueError, match=r"(?s)Could not find variable.*ExportArchive without track"):
        run_signature(keras_attached_dir, "serving_default", {"x": x})


@pytest.mark.parametrize(
    ("signature", "inputs", "message"),
    [
        (
            "pear",
            {"text": ["a"]},
            'Serving signature key "pear" not found.\n'
            "The model has the signatures letters, number, odd, pair, repeat, serving_default, ",
        ),
        (
            "pair",
            {"text": ["a"]},
            "input size does not match signature: 1!=2 len({text}) != len({text,text_pair}). "
            "Sent extra: {}. Missing but required: {text_pair}.\n"
            "Signature pair expects text string [-1], text_pair string [-1]; "
            "received text <U1 [1].",
        ),
        (
            "serving_default",
            {"text": ["a"], "words": ["b"]},
            "Sent extra: {words}. Missing but required: {}.",
        ),
        (
            "serving_default",
            {"text": np.array([["a", "b"]])},
            "Send exactly these names, dtypes and ranks (-1 is any size).",
        ),
    ],
)
def test_refusals_say_received_expected_and_mend(model, signature, inputs, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        run_loaded(model, signature, inputs)
