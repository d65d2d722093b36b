"""What sentence-transformers scores, by a SavedModel and by a LiteRT file."""

import numpy as np
import pytest

import kbert
from export.export_tflite import export_tflite
from export.gate.saved_model_session import SavedModelSession
from tests.kbert.checkpoints.hugging_face.test_sentence_transformers import golden

pytestmark = pytest.mark.long


def test_scores(tmp_path):
    source, expected = golden("cross_encoder_sigmoid")
    loaded = kbert.load(source)
    session = SavedModelSession(loaded.export(tmp_path / "served", measure=False)["path"])
    export_tflite(loaded, tmp_path / "lite", quantizations=["float32"])
    lite = kbert.load(tmp_path / "lite" / "model_float32.tflite")
    pairs = [tuple(pair) for pair in expected["pairs"]]
    first, second = np.array([[text.encode() for text in pair] for pair in pairs], object).T
    served = session.run("pair", {"text": first, "text_pair": second}, ())
    answers, raw = lite.predict(pairs), lite.predict(pairs, raw_scores=True)
    for found in (served["prediction"], [answer["prediction"] for answer in answers]):
        np.testing.assert_allclose(found, expected["scores"], atol=5e-6)
    for found in (served["logits"], [answer["prediction"] for answer in raw]):
        np.testing.assert_allclose(found, expected["logits"], atol=5e-6)
