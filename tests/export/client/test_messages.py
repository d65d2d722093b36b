"""The client's own tensors are TensorFlow's, of every type and in both directions."""

import numpy as np
import pytest
import tensorflow as tf

from export.client import messages
from export.client.tensors import from_proto, to_proto

ARRAYS = [
    np.array([["a\0", ""], ["é", "x"]], object),
    np.array([1.5, -2.0, np.inf], np.float32),
    np.array(3, np.int32),
    np.arange(6, dtype=np.int64).reshape(1, 2, 3),
    np.array([True, False]),
    np.array([0.5], np.float16),
    np.zeros([0, 4], np.float64),
]


def theirs(array):
    return tf.make_tensor_proto(array, tf.string if array.dtype == object else None)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_tensors_have_the_same_bytes(array):
    own = to_proto(array)
    copy = tf.make_ndarray(type(theirs(array)).FromString(own.SerializeToString()))
    assert copy.shape == array.shape and copy.dtype == array.dtype
    expected = (
        [[value.encode() for value in row] for row in array] if array.dtype == object else array.tolist()
    )
    assert copy.tolist() == expected
    # tf.make_tensor_proto has no tensor_content for single values, so it is compared by what it says.
    read = from_proto(messages.TensorProto.FromString(theirs(array).SerializeToString()))
    assert read.tolist() == expected and read.shape == array.shape and read.dtype == array.dtype


def test_what_cannot_be_sent_is_refused():
    with pytest.raises(ValueError, match="complex64 cannot be sent; expected one of strings, bool"):
        to_proto(np.zeros(1, np.complex64))
    with pytest.raises(ValueError, match=r"received None \(NoneType\) among strings"):
        to_proto(np.array(["a", None], object))
