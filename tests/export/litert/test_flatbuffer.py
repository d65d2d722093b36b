"""A LiteRT file whose tensors stand in the order that is documented."""

import pytest
from ai_edge_litert import schema_py_generated as schema

from export.litert.flatbuffer import in_order, read_model, write_model

NAMES = ["segment_ids", "input_mask", "input_ids", "start_logits", "end_logits"]


def a_graph(places):
    tensors = [schema.TensorT(name=name.encode(), shape=[1]) for name in NAMES]
    return schema.SubGraphT(tensors=tensors, inputs=places[:3], outputs=places[3:], operators=[])


def a_signature(number):
    maps = [schema.TensorMapT(name.encode(), index) for index, name in enumerate(NAMES)]
    return schema.SignatureDefT(maps[:3], maps[3:], f"length_{number}".encode(), number)


@pytest.mark.parametrize("places", [[0, 1, 2, 3, 4], [2, 0, 1, 4, 3]])
def test_tensors_stand_in_the_order_that_is_given(places):
    model = schema.ModelT(
        subgraphs=[a_graph(places), a_graph(places[2::-1] + places[3:])],
        signatureDefs=[a_signature(1), a_signature(0)],
        buffers=[schema.BufferT()],
    )
    before = write_model(model, 0)
    inputs = ["input_ids", "input_mask", "segment_ids"]
    after = read_model(in_order(before, {"length_0": inputs, "length_1": inputs[::-1]}))
    for graph, expected in zip(after.subgraphs, (inputs, inputs[::-1]), strict=True):
        assert [NAMES[index] for index in graph.inputs] == expected
        assert [NAMES[index] for index in graph.outputs] == ["end_logits", "start_logits"]
    assert [signature.inputs[0].tensorIndex for signature in after.signatureDefs] == [0, 0]
