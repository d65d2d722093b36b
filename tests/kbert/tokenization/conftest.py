"""Tests that are run with the ops of TF-Text and with those of TensorFlow's core."""

import pytest

from kbert.tokenization.text_ops import core_ops, import_tf_text


@pytest.fixture(scope="module", params=["tf_text", "core"])
def both_text_ops(request):
    if request.param == "tf_text" and import_tf_text() is None:
        pytest.skip("TF-TEXT'S OPS WERE NOT TESTED: it cannot be imported.")
    with core_ops(request.param == "core"):
        yield
