"""The ops of a LiteRT file: a phone's stock library has the built-in ones alone."""

import collections
from collections.abc import Collection

from ai_edge_litert import schema_py_generated as schema

_NAMES = {
    value: name for name, value in vars(schema.BuiltinOperator).items() if not name.startswith("_")
}  # number -> "GATHER"


def ops_of(content: bytes) -> dict[str, int]:
    """name -> how often the op occurs in all graphs of the file, sorted by name.

    A custom op is named "CUSTOM <its name>"; one of TensorFlow's own (Flex) "CUSTOM FlexErf", for example.
    """
    model = schema.Model.GetRootAs(content, 0)
    names = [_name(model.OperatorCodes(index)) for index in range(model.OperatorCodesLength())]
    counts: collections.Counter = collections.Counter()
    for graph in map(model.Subgraphs, range(model.SubgraphsLength())):
        for place in range(graph.OperatorsLength()):
            counts[names[graph.Operators(place).OpcodeIndex()]] += 1
    return dict(sorted(counts.items()))


def checked_ops(content: bytes, name: str, custom_ops: Collection[str] = ()) -> dict[str, int]:
    """`ops_of` a file.

    Args:
      content: the file.
      name: of the file, for the error.
      custom_ops: those that it may have.

    Raises:
      ValueError: naming the file and its ops, when one is neither built in nor among `custom_ops`.
    """
    ops = ops_of(content)
    custom = [op.removeprefix("CUSTOM ") for op in ops if op.startswith("CUSTOM")]
    if others := [op for op in custom if op not in custom_ops]:
        raise ValueError(
            f"{name} needs ops that the stock LiteRT library does not have: {', '.join(others)}; nothing was "
            "exported."
        )
    return ops


def _name(code) -> str:
    # The first field is a byte, from before there were more than 127 ops.
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    if number == schema.BuiltinOperator.CUSTOM:
        return f"CUSTOM {code.CustomCode().decode('utf-8', 'replace')}"
    return _NAMES[number]
