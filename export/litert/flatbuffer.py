"""A LiteRT file as objects of its schema: its ops, and writing it with weights where phones want them."""

import collections
from collections.abc import Collection, Mapping, Sequence

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

_ALIGNMENT = 16  # bytes; schema.fbs, table Buffer: `data: [ubyte] (force_align: 16)`
_OP_NAMES = {value: name for name, value in vars(schema.BuiltinOperator).items() if name[0] != "_"}


def read_model(content: bytes) -> schema.ModelT:
    """The file as objects of its schema."""
    return schema.ModelT.InitFromPackedBuf(content, 0)


def op_number(model: schema.ModelT, op: schema.OperatorT) -> int:
    """Which of `schema.BuiltinOperator` an op is."""
    code = model.operatorCodes[op.opcodeIndex]
    return max(code.builtinCode, code.deprecatedBuiltinCode)  # the second is a byte: of the first 127


def count_ops(content: bytes) -> dict[str, int]:
    """name -> how often the op occurs in all graphs of the file, sorted by name.

    A custom op is named "CUSTOM <its name>"; one of TensorFlow's own (Flex) "CUSTOM FlexErf", for example.
    """
    model, counts = read_model(content), collections.Counter[str]()
    for op in (op for graph in model.subgraphs for op in graph.operators):
        custom = model.operatorCodes[op.opcodeIndex].customCode
        counts[f"CUSTOM {custom.decode()}" if custom else _OP_NAMES[op_number(model, op)]] += 1
    return dict(sorted(counts.items()))


def checked_ops(content: bytes, name: str, custom_ops: Collection[str] = ()) -> dict[str, int]:
    """`count_ops` a file: a phone's stock library has the built-in ones alone.

    Args:
      content: the file.
      name: of the file, for the error.
      custom_ops: those that it may have.

    Raises:
      ValueError: naming the file and its ops, when one is neither built in nor among `custom_ops`.
    """
    ops = count_ops(content)
    custom = [op.removeprefix("CUSTOM ") for op in ops if op.startswith("CUSTOM")]
    if others := [op for op in custom if op not in custom_ops]:
        raise ValueError(
            f"{name} needs ops that the stock LiteRT library does not have: {', '.join(others)}; nothing was "
            "exported."
        )
    return ops


def in_order(content: bytes, inputs: Mapping[str, Sequence[str]]) -> bytes:
    """The same file; its graphs take their inputs in this order and give their outputs in that of the names.

    Flutter, React Native and Swift know tensors by their places alone. The converter has an order of its own.

    Args:
      content: the file.
      inputs: name of a signature -> the names of its inputs.
    """
    ordered = bytearray(content)
    model = schema.Model.GetRootAs(ordered)
    for signature in map(model.SignatureDefs, range(model.SignatureDefsLength())):
        graph = model.Subgraphs(signature.SubgraphIndex())
        input_numbers = _tensors(signature.Inputs, signature.InputsLength())
        output_numbers = _tensors(signature.Outputs, signature.OutputsLength())
        graph.InputsAsNumpy()[:] = [input_numbers[name] for name in inputs[signature.SignatureKey().decode()]]
        graph.OutputsAsNumpy()[:] = [output_numbers[name] for name in sorted(output_numbers)]
    return bytes(ordered)


def _tensors(named, number: int) -> dict[str, int]:
    """name -> the tensor's number, of a signature's inputs or outputs."""
    return {tensor.Name().decode(): tensor.TensorIndex() for tensor in map(named, range(number))}


def write_model(model: schema.ModelT, size: int) -> bytes:
    """The bytes of a file, about `size` of them; `model` is changed by it.

    Python's own writer does not keep the alignment that the schema asks of weights.
    """
    for buffer in model.buffers:
        buffer.__class__ = _AlignedBuffer
    builder = flatbuffers.Builder(size + (1 << 16))  # growing would copy all weights, again and again
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def add_buffer(model: schema.ModelT, data: bytes) -> int:
    """Adds a buffer; returns its number."""
    model.buffers.append(schema.BufferT(data=np.frombuffer(data, np.uint8)))
    return len(model.buffers) - 1


class _AlignedBuffer(schema.BufferT):
    def Pack(self, builder):
        offset = None if self.data is None else _aligned_bytes(builder, bytes(self.data))
        schema.BufferStart(builder)
        if offset is not None:
            schema.BufferAddData(builder, offset)
        return schema.BufferEnd(builder)


def _aligned_bytes(builder, data: bytes) -> int:
    builder.StartVector(1, len(data), _ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return builder.EndVector()
