from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from export.deployment import warmup_requests as warmup
from export.deployment.warmup_requests import read_warmup_requests, write_warmup_requests
from export.folder_names import WARMUP_FILE
from kbert.tasks.signatures.signature import Signature
from kbert.tokenization.text_inputs import TextInputs
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary

LENGTH = 40
TEXT, IDS = ("string", (None,)), ("int32", (None, None))
SIGNATURES = {
    "serving_default": Signature({"text": TEXT}, None),
    "pair": Signature({"text": TEXT, "text_pair": TEXT}, None),
    "ids": Signature(dict.fromkeys(("input_ids", "input_mask", "segment_ids"), IDS), None),
    "words": Signature({"words": ("string", (None, None))}, None),
    "fill": Signature({"text": TEXT, "top_k": ("int32", ())}, None),
    "classify": Signature({"inputs": TEXT}, None, {"text": TEXT}),
}
EXAMPLES = [{"text": "jump the a walk"}, {"text": "asked to look"}]


@pytest.fixture
def text_inputs(vocabulary):
    return TextInputs(vocabulary, LENGTH)


def test_each_signature_batch_size_and_length_has_a_request_of_that_size(text_inputs):
    requests = list(warmup.warmup_requests(SIGNATURES, text_inputs, EXAMPLES))
    sizes = [(request.signature, request.num_tokens, request.batch_size) for request in requests]
    assert sizes == [(name, n, b) for name in SIGNATURES for n in (32, LENGTH) for b in (1, 8, 32)]
    for request in requests:
        rows = {len(value) for value in request.inputs.values() if np.ndim(value)}
        assert rows == {request.batch_size}
        if request.signature in ("serving_default", "pair", "ids"):
            lengths = _lengths(request.inputs, text_inputs)
            assert request.num_tokens - 4 <= lengths.max() <= request.num_tokens


def test_several_long_texts_are_no_request(text_inputs, monkeypatch):
    monkeypatch.setattr(warmup, "_MOST_TOKENS", 8 * 32)
    requests = warmup.warmup_requests(SIGNATURES, text_inputs, EXAMPLES)
    sizes = {(request.num_tokens, request.batch_size) for request in requests}
    assert sizes == {(32, 1), (32, 8), (LENGTH, 1)}


def test_of_many_signatures_the_longest_requests_are_left_out(text_inputs, monkeypatch):
    monkeypatch.setattr(warmup, "_MOST_REQUESTS", 2 * len(SIGNATURES) + 1)
    requests = warmup.warmup_requests(SIGNATURES, text_inputs, EXAMPLES)
    sizes = [(request.signature, request.num_tokens, request.batch_size) for request in requests]
    assert sizes == [(name, 32, batch_size) for name in SIGNATURES for batch_size in (1, 8)]


@pytest.mark.parametrize(("seconds", "expected"), [(60, 6), (11, 4), (0, 2)])
def test_requests_are_replayed_while_there_is_time(monkeypatch, seconds, expected):
    """A token takes .1 s: requests of 8, 32 and 64 tokens of two signatures, the largest first."""
    clock, asked = [0.0], []
    monkeypatch.setattr(warmup, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def ask(signature, tokens):
        asked.append((signature, tokens))
        clock[0] += 0.1 * tokens

    requests = [warmup.WarmupRequest(name, 2, size, {}) for size in (32, 16, 4) for name in ("ids", "texts")]
    warmup.replay(
        requests, [(request.signature, 2 * request.num_tokens) for request in requests], ask, seconds
    )
    assert asked == [(name, size) for size in (8, 32, 64) for name in ("ids", "texts")][:expected]


def test_masks_are_those_of_the_model(text_inputs):
    for inputs, mask in ((text_inputs, "[MASK]"), (TextInputs(bpe_vocabulary([]), LENGTH), "<mask>")):
        request = next(warmup.warmup_requests({"fill": SIGNATURES["fill"]}, inputs))
        assert request.inputs["text"][0].split()[1] == mask


def _lengths(inputs, text_inputs):
    if "input_mask" in inputs:
        return inputs["input_mask"].sum(axis=-1)
    return text_inputs(*(tf.constant(list(v)) for v in inputs.values()))["input_mask"].numpy().sum(axis=-1)


def test_a_server_reads_what_was_written(text_inputs, tmp_path):
    requests = list(warmup.warmup_requests(SIGNATURES, text_inputs))
    assert write_warmup_requests(tmp_path, "sst2", requests) == len(requests) < 1000
    read = list(read_warmup_requests(tmp_path))
    assert [name for name, _ in read] == [request.signature for request in requests]
    for (_, inputs), request in zip(read, requests, strict=True):
        assert inputs.keys() == request.inputs.keys()
        for name, value in inputs.items():
            wanted = request.inputs[name]
            texts = [text.encode() if isinstance(text, str) else text for text in wanted.ravel()]
            assert value.ravel().tolist() == (texts if wanted.dtype == object else wanted.ravel().tolist())
            assert value.shape == wanted.shape
    record = next(tf.data.TFRecordDataset(str(tmp_path / WARMUP_FILE)).as_numpy_iterator())
    log = prediction_log_pb2.PredictionLog.FromString(record)
    assert log.predict_log.request.model_spec.name == "sst2"
