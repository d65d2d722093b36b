"""Values of a request are of their input's type, as TensorFlow Serving wants them."""

import json

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from export.gate.saved_model_session import RequestError
from export.server.limits import Limits
from export.server.rest.json_request import parse_body, read_inputs

LIMITS = Limits()


def read(value, dtype, max_elements=LIMITS.max_elements):
    signature = meta_graph_pb2.SignatureDef()
    signature.inputs["x"].dtype = dtype.as_datatype_enum
    document = parse_body(json.dumps({"inputs": value}).encode())
    return read_inputs(document, signature, max_elements)["x"].tolist()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1, -2], tf.int32),
        ([1 << 40], tf.int64),
        ([1, 2.5], tf.float32),
        ([True, False], tf.bool),
    ],
)
def test_a_value_of_its_type_is_read(value, dtype):
    assert read(value, dtype) == value


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([True], tf.int32),
        ([1.5], tf.int32),
        ([1 << 31], tf.int32),
        ([-1], tf.uint8),
        (["1"], tf.int64),
        ([True], tf.float32),
        ([1], tf.bool),
        ([None], tf.float32),
    ],
)
def test_a_value_of_another_type_is_refused(value, dtype):
    with pytest.raises(RequestError, match="is not of expected type"):
        read(value, dtype)


def test_the_limit_is_the_callers_and_has_no_second_owner():
    assert read([1, 2], tf.int32, max_elements=2) == [1, 2]
    with pytest.raises(RequestError, match=r"More than 2 values in a tensor \(--max_elements\)"):
        read([1, 2, 3], tf.int32, max_elements=2)
    with pytest.raises(TypeError, match="max_elements"):
        read_inputs({"inputs": [1]}, meta_graph_pb2.SignatureDef())


@pytest.mark.parametrize("form", [{"instances": [{"b64": "YQ=="}]}, {"inputs": {"b64": "YQ=="}}])
def test_bytes_do_not_stand_for_several_inputs(form):
    signature = meta_graph_pb2.SignatureDef()
    for name in ("text", "text_pair"):
        signature.inputs[name].dtype = tf.string.as_datatype_enum
    with pytest.raises(RequestError, match="is a plain .* multiple input tensors required") as refused:
        read_inputs(form, signature, 10)
    assert refused.value.status == "INVALID_ARGUMENT"
