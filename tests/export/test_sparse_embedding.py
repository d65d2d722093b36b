"""What sentence-transformers' SparseEncoder answers, by a SavedModel of either tokenizer."""

import numpy as np
import pytest
import tensorflow as tf

import kbert
from export.export_savedmodel import export_savedmodel
from export.gate.saved_model_session import SavedModelSession
from tests.kbert.checkpoints.hugging_face.test_sentence_transformers import golden

pytestmark = pytest.mark.long


def dense(answer, width):
    """(texts, width), from the words and their weights."""
    vectors = np.zeros((len(answer["indices"]), width), np.float32)
    np.put_along_axis(vectors, answer["indices"], answer["weights"], axis=1)
    return vectors


@pytest.mark.parametrize(
    ("name", "text_ops"),
    [("splade_max", "tf_text"), ("splade_sum_log1p", "core")],
)
def test_the_words_of_texts_and_their_weights(name, text_ops, tmp_path):
    source, expected = golden(name)
    loaded = kbert.load(source)
    report = export_savedmodel(loaded, tmp_path / "served", text_ops=text_ops)
    session, module = SavedModelSession(report["path"]), tf.saved_model.load(report["path"])
    texts, right = expected["texts"], np.array(expected["documents"])
    by_loading = module.signatures["serving_default"](text=tf.constant(texts))
    for answer in (
        session.run("serving_default", {"text": texts}),
        {key: value.numpy() for key, value in by_loading.items()},
    ):
        np.testing.assert_allclose(dense(answer, right.shape[1]), right, atol=2e-5)
        assert (np.diff(answer["weights"], axis=1) <= 0).all()
    first = loaded.predict(texts[0])
    real = [weight for weight in answer["weights"][0].tolist() if weight > 0]
    assert first["weights"] == pytest.approx(real, abs=2e-5) and len(first["indices"]) == len(real)


def test_an_export_in_bfloat16_is_near(tmp_path):
    source, expected = golden("splade_max")
    report = export_savedmodel(kbert.load(source), tmp_path / "served", precision="bfloat16")
    answer = SavedModelSession(report["path"]).run("serving_default", {"text": expected["texts"]})
    found, right = dense(answer, len(expected["documents"][0])), np.array(expected["documents"])
    np.testing.assert_allclose(found, right, atol=0.03)
    assert np.abs(found - right).max() > 1e-4  # it is bfloat16
