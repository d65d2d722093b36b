"""A SavedModel of a run on labels answers as Python does."""

import numpy as np

from export.export_savedmodel import export_savedmodel
from export.gate.session_check import run_signature


def assert_served(run, texts, given, model_base_path):
    """Exports `run` and compares labels, and probabilities to 1e-5, with the answers given in Python."""
    export_savedmodel(run, model_base_path)
    served = run_signature(str(model_base_path / "1"), "serving_default", {"text": np.array(texts, object)})
    assert [name.decode() for name in served["label"]] == [one["label"] for one in given]
    expected = [list(one["probabilities"].values()) for one in given]
    np.testing.assert_allclose(served["probabilities"], expected, atol=1e-5)
