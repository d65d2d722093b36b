"""What belongs to a version fits together: requests to warm up with, and batching."""

from types import SimpleNamespace

import numpy as np
import pytest
from google.protobuf import text_format

from export.deployment import beside_version
from export.deployment.server_protos import BatchingParameters
from export.deployment.warmup_requests import read_warmup_requests
from kbert.tokenization.text_inputs import TextInputs
from tests.export.deployment.test_warmup_requests import EXAMPLES, LENGTH, SIGNATURES

BATCHED = {name: SIGNATURES[name] for name in ("serving_default", "pair", "ids")}


@pytest.mark.parametrize(
    ("milliseconds", "largest"), [((10, 20, 60), 32), ((10, 20, 100), 8), ((10, 80, 640), 1)]
)
def test_no_request_is_larger_than_the_largest_batch(
    milliseconds, largest, vocabulary, tmp_path, monkeypatch
):
    """A server that batches refuses such a request, and with it the version."""
    times = dict(zip(("1", "8", "32"), milliseconds, strict=True))
    monkeypatch.setattr(
        beside_version,
        "measure",
        lambda *unused: {"milliseconds": times, "num_tokens": 32, "num_threads": 2},
    )
    loaded = SimpleNamespace(text_inputs=TextInputs(vocabulary, LENGTH))
    serving_model = SimpleNamespace(signatures=BATCHED, loaded=loaded)
    written = beside_version.write_version_files(tmp_path, "m", serving_model, EXAMPLES, None, True)
    text = (tmp_path / beside_version.BATCHING_FILE).read_text()
    assert text_format.Parse(text, BatchingParameters()).max_batch_size.value == largest
    sizes = {
        len(value)
        for _, inputs in read_warmup_requests(tmp_path / "assets.extra")
        for value in inputs.values()
        if np.ndim(value)
    }
    assert sizes == {size for size in (1, 8, 32) if size <= largest}
    assert written.num_warmup_requests == len(list(read_warmup_requests(tmp_path / "assets.extra")))
