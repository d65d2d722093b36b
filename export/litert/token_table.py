"""The token table of an int8 file, with a scale for each of its rows.

The converter gives the table one scale for all of its numbers. The largest of MiniLM's is 19 times their
standard deviation, so a usual number has 7 of the 127 steps, and the table cost as much as all products
(docs/notes/litert.md). With a scale for each row it costs next to nothing. GATHER has no such scales, so they
are a table of their own, which all lengths share:

    GATHER(table, ids) -> DEQUANTIZE, scale 1 -> MUL by GATHER(scales, ids)
"""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from .flatbuffer import add_buffer, op_number, read_model, write_model

_OPS, _TYPES = schema.BuiltinOperator, schema.TensorType


def quantize_rows(table) -> tuple[np.ndarray, np.ndarray]:
    """(int8 table, float32 (rows, 1) scales): the scale of a row is its largest magnitude through 127."""
    table = np.asarray(table, np.float32)
    scales = np.abs(table).max(axis=1, keepdims=True) / np.float32(127)
    scales = np.where(scales > 0, scales, np.float32(1))
    return np.rint(table / scales).astype(np.int8), scales


def with_row_scales(content: bytes, tables: list[np.ndarray]) -> bytes:
    """An int8 file whose table of tokens has a scale for each row.

    Args:
      content: a file of the converter's dynamic range quantization.
      tables: float32 arrays, the model's two-dimensional weights; the one that the table was made of is found
        by its content.

    Returns:
      The file; unchanged, if no table of it is in int8: the converter leaves small ones in float32.

    Raises:
      ValueError: when a table in int8 is none of `tables`.
    """
    model = read_model(content)
    scales: dict[int, int] = {}  # buffer of a table -> buffer of its scales
    gathers = [(g, op) for g in model.subgraphs for op in g.operators if op_number(model, op) == _OPS.GATHER]
    for graph, gather in gathers:
        table = graph.tensors[gather.inputs[0]]
        if table.type != _TYPES.INT8 or len(table.shape) != 2:
            continue
        if table.buffer not in scales:
            quantized, by_row = quantize_rows(_original(model, table, tables))
            model.buffers[table.buffer].data = np.frombuffer(quantized.tobytes(), np.uint8)
            scales[table.buffer] = add_buffer(model, by_row.tobytes())
        _multiply_by_scales(model, graph, gather, scales[table.buffer])
    return write_model(model, len(content)) if scales else content


def _original(model, tensor, tables):
    """The one of `tables` that a quantized tensor was made of: none of its numbers is a whole step away."""
    stored = np.frombuffer(bytes(model.buffers[tensor.buffer].data), np.int8).reshape(tensor.shape)
    scale = float(tensor.quantization.scale[0])
    for table in tables:
        if table.shape == stored.shape and np.abs(stored * np.float32(scale) - table).max() < scale:
            return table
    raise ValueError(
        f"the file has a table of {tuple(stored.shape)} in int8 that is none of the model's; "
        "nothing was exported."
    )


def _multiply_by_scales(model, graph, gather, scales_buffer):
    """Behind the DEQUANTIZE: the rows times their scales, in the place of what it gave before."""
    (dequantize,) = (op for op in graph.operators if gather.outputs[0] in op.inputs)
    tokens, rows = graph.tensors[gather.inputs[0]], graph.tensors[dequantize.outputs[0]]
    for tensor in (tokens, graph.tensors[gather.outputs[0]]):
        tensor.quantization.scale = np.ones(1, np.float32)
    table = _add_tensor(graph, "token_table/scales", [tokens.shape[0], 1], scales_buffer)
    scales = _add_tensor(graph, "token_table/scales_of_tokens", [*rows.shape[:-1], 1], 0)
    unscaled = _add_tensor(graph, "token_table/unscaled", list(rows.shape), 0)
    (out,) = dequantize.outputs
    dequantize.outputs = [unscaled]
    # Every graph of an encoder has a MUL, for its norms.
    times = next(op.opcodeIndex for op in graph.operators if op_number(model, op) == _OPS.MUL)
    scale = _operator(gather.opcodeIndex, [table, gather.inputs[1]], scales, "Gather")
    multiply = _operator(times, [unscaled, scales], out, "Mul")
    position = graph.operators.index(dequantize) + 1
    graph.operators[position:position] = [scale, multiply]


def _operator(code, inputs, output, name):
    return schema.OperatorT(
        opcodeIndex=code,
        inputs=inputs,
        outputs=[output],
        builtinOptionsType=getattr(schema.BuiltinOptions, f"{name}Options"),
        builtinOptions=getattr(schema, f"{name}OptionsT")(),
    )


def _add_tensor(graph, name, shape, buffer) -> int:
    graph.tensors.append(schema.TensorT(name=name, shape=shape, type=_TYPES.FLOAT32, buffer=buffer))
    return len(graph.tensors) - 1
