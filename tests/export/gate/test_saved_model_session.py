import numpy as np
import pytest
import tensorflow as tf

from export.gate.saved_model_session import RequestError, SavedModelSession


def test_signature_answers_as_the_python_loader_does(asked_model_dir):
    texts = np.array([b"short", "a much longer text é".encode()], object)
    expected = tf.saved_model.load(asked_model_dir).signatures["serving_default"](text=tf.constant(texts))
    session = SavedModelSession(asked_model_dir)
    answer = session.run("serving_default", {"text": texts})
    np.testing.assert_allclose(answer["probabilities"], expected["probabilities"], atol=1e-6)
    assert answer["label"].tolist() == [b"short", b"long"]
    with pytest.raises(RequestError, match=r"Cannot feed value of shape \(1, 2\)"):
        session.run("serving_default", {"text": [["a", "b"]]})


def test_keras_object_attached_passes_in_python_and_is_caught_here(keras_attached_dir):
    x = np.ones([1, 4], "f4")
    loaded = tf.saved_model.load(keras_attached_dir)
    assert loaded.signatures["serving_default"](x=tf.constant(x))["logits"].shape == (1, 2)
    with pytest.raises(RequestError, match="Could not find variable"):
        SavedModelSession(keras_attached_dir).run("serving_default", {"x": x})
