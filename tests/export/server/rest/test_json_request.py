"""Values of a request are of their input's type, as TensorFlow Serving wants them."""

import json

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from export.gate.saved_model_session import RequestError
from export.server.limits import Limits
from export.server.rest.json_request import parse_body, read_inputs


def read(value, dtype):
    signature = meta_graph_pb2.SignatureDef()
    signature.inputs["x"].dtype = dtype.as_datatype_enum
    document = parse_body(json.dumps({"inputs": value}).encode())
    return read_inputs(document, signature, Limits().max_elements)["x"].tolist()


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
