"""What sentence-transformers answers, by a SavedModel and by a LiteRT file."""

import numpy as np
import pytest

import kbert
from export.export_tflite import export_tflite
from export.gate.saved_model_session import SavedModelSession
from tests.kbert.checkpoints.hugging_face.test_sentence_transformers import expected_vectors, golden

pytestmark = pytest.mark.long


def exported(loaded, folder):
    """(the session of a SavedModel, the loaded LiteRT file)"""
    version = loaded.export(folder / "served", measure=False)["path"]
    export_tflite(loaded, folder / "lite", quantizations=["float32"])
    return SavedModelSession(version), kbert.load(folder / "lite" / "model_float32.tflite")


@pytest.mark.parametrize("name", ["dense_tanh", "prompts_not_pooled"])
def test_vectors(name, tmp_path):
    loaded, texts, vectors = expected_vectors(name, tmp_path)
    session, lite = exported(loaded, tmp_path)
    encoded = {"text": np.array([text.encode() for text in texts], object)}
    for found in (
        session.run("serving_default", encoded, ())["embedding"],
        lite.embed(texts),
        [answer["embedding"] for answer in lite.predict(texts)],
    ):
        np.testing.assert_allclose(found, vectors, atol=5e-6)


def test_scores(tmp_path):
    source, expected = golden("cross_encoder_sigmoid")
    session, lite = exported(kbert.load(source), tmp_path)
    pairs = [tuple(pair) for pair in expected["pairs"]]
    first, second = np.array([[text.encode() for text in pair] for pair in pairs], object).T
    served = session.run("pair", {"text": first, "text_pair": second}, ())
    answers, raw = lite.predict(pairs), lite.predict(pairs, raw_scores=True)
    for found in (served["prediction"], [answer["prediction"] for answer in answers]):
        np.testing.assert_allclose(found, expected["scores"], atol=5e-6)
    for found in (served["logits"], [answer["prediction"] for answer in raw]):
        np.testing.assert_allclose(found, expected["logits"], atol=5e-6)
