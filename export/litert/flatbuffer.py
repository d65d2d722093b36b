"""Reads a LiteRT file as objects, and writes it again with its weights where phones want them."""

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

_ALIGNMENT = 16  # bytes; schema.fbs, table Buffer: `data: [ubyte] (force_align: 16)`


def read_model(content: bytes) -> schema.ModelT:
    """The file as objects of its schema."""
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))


def write_model(model: schema.ModelT, size: int) -> bytes:
    """The bytes of a file, about `size` of them; `model` is changed by it.

    Python's own writer does not keep the alignment that the schema asks of weights.
    """
    for buffer in model.buffers:
        buffer.__class__ = _AlignedBuffer
    builder = flatbuffers.Builder(size + (1 << 16))  # growing would copy all weights, again and again
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


class _AlignedBuffer(schema.BufferT):
    def Pack(self, builder):
        place = None if self.data is None else _aligned_bytes(builder, bytes(self.data))
        schema.BufferStart(builder)
        if place is not None:
            schema.BufferAddData(builder, place)
        return schema.BufferEnd(builder)


def _aligned_bytes(builder, data: bytes) -> int:
    builder.StartVector(1, len(data), _ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return builder.EndVector()
