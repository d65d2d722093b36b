"""A tensor is checked before an array is made of it, and what is right comes back as it was."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.core.framework import tensor_pb2, types_pb2

from export.gate.saved_model_session import RequestError
from export.server.limits import Limits
from export.server.ranking import rank
from export.server.request import Request
from export.server.service import Service
from export.server.tensors import read_tensor, write_tensor

LIMITS = Limits(max_text_bytes=1000, max_texts=10_000, max_elements=10_000)
UNKNOWN = {"unknown_rank": True}


def proto(dtype=types_pb2.DT_STRING, sizes=(1,), **values):
    made = tensor_pb2.TensorProto(dtype=dtype, **values)
    for size in sizes:
        made.tensor_shape.dim.add(size=size)
    return made


@pytest.mark.parametrize(
    "wrong",
    [
        tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, tensor_shape=UNKNOWN, string_val=[b"a"]),
        proto(sizes=[4194304], string_val=[b"a"]),  # an attack of November 2026, which took 17 GB
        proto(sizes=[10**6, 10**6, 10**6, 10**6], string_val=[b"a"]),
        proto(types_pb2.DT_FLOAT, [10**9], float_val=[1.0]),  # 8 GB by one header
        proto(sizes=[0, 10**12]),
        proto(sizes=[-1], string_val=[b"a"]),
        proto(sizes=[2], string_val=[b"a"]),  # a text is never repeated
        proto(sizes=[2]),
        proto(sizes=[1] * 255, string_val=[b"a"]),
        proto(sizes=[1], string_val=[b"a" * 1001]),
        proto(sizes=[1], tensor_content=b"a"),
        proto(types_pb2.DT_RESOURCE),
        proto(types_pb2.DT_INVALID),
        proto(99),
        proto(types_pb2.DT_INT32, [2], tensor_content=b"abc"),
        proto(types_pb2.DT_INT32, [2]),
        proto(types_pb2.DT_INT32, [2], tensor_content=b"abcd"),  # a number in bytes is not repeated
    ],
)
def test_a_wrong_tensor_is_an_invalid_argument_and_takes_no_memory(wrong):
    tracemalloc.start()
    with pytest.raises(RequestError) as error:
        read_tensor("text", wrong, LIMITS)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert error.value.status == "INVALID_ARGUMENT" and "text" in error.value.message


def test_a_query_is_checked_before_it_stands_beside_every_text():
    model = SimpleNamespace(
        session=None, pair_number=("p", "o"), signatures={"p": SimpleNamespace(outputs={})}
    )
    model.ranks_by_vectors, model.gives_token_vectors, model.text_inputs = False, False, None
    model.ids_signature = lambda output: None
    service = Service(model, LIMITS)
    tracemalloc.start()
    with pytest.raises(RequestError, match="a text of 100000 bytes"):
        rank(service, Request(60), "a" * 100_000, ["b"] * 2048)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert service.queue.stop(10)


@given(
    st.sampled_from(["float32", "float64", "int32", "int64", "bool"]),
    st.lists(st.integers(0, 4), max_size=3),
    st.randoms(use_true_random=False),
)
def test_arrays_come_back_as_they_were(dtype, shape, random):
    array = np.array([random.randrange(2) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)
    for written in (write_tensor(array), tf.make_tensor_proto(array)):
        read = read_tensor("x", written, LIMITS)
        assert read.dtype == array.dtype and read.tolist() == array.tolist() and read.shape == array.shape


def test_strings_keep_their_bytes_and_a_number_may_stand_for_all():
    array = np.array([[b"a\0", b""], ["é".encode(), b"\xff"]], object)
    assert read_tensor("x", write_tensor(array), LIMITS).tolist() == array.tolist()
    assert read_tensor("x", proto(types_pb2.DT_INT32, [2, 2], int_val=[3]), LIMITS).tolist() == [[3, 3]] * 2
