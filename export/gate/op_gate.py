"""Checks before an export that a stock TensorFlow Serving knows all ops of a SavedModel.

A server refuses a whole model for one op that it does not know ("Op type not registered"). No
Python test notices this, because Python has the ops of a newer TensorFlow and TF-Text. So the
names in the finished graph are compared to `servable_ops.txt`, the ops of the servers in use.

Only names are compared. Loading the folder (`export/gate/session_check.py`) shows whether
attributes and kernels fit, in this TensorFlow and, in CI, in 2.12.1.
"""

import functools
import pathlib

from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

SERVABLE_OPS_FILE = pathlib.Path(__file__).with_name("servable_ops.txt")
_TEXT_SECTION = "# TF-Text"
_MAX_PLACES_SHOWN = 3


@functools.cache
def servable_ops() -> frozenset[str]:
    """Returns the names of all ops that a stock server knows."""
    lines = SERVABLE_OPS_FILE.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


@functools.cache
def servable_text_ops() -> frozenset[str]:
    """Returns the names of the ops that a stock server has from TF-Text."""
    _, _, section = SERVABLE_OPS_FILE.read_text(encoding="utf-8").partition(f"\n{_TEXT_SECTION}")
    return frozenset(section.splitlines()[1:])


def list_ops(saved_model_dir: str) -> dict[str, list[str]]:
    """Lists every op of a SavedModel and where it occurs.

    All meta graphs are read, each with its function library: a model saved by TensorFlow 2 keeps
    nearly all its ops in functions.

    Args:
        saved_model_dir: folder that holds `saved_model.pb`.

    Returns:
        Op name -> sorted places, a place being `graph [tags]` or `function NAME`. A call of a
        function by its own name is not an op and is left out.
    """
    places: dict[str, set[str]] = {}
    for meta_graph in _read_saved_model(saved_model_dir).meta_graphs:
        graph = meta_graph.graph_def
        tags = ",".join(sorted(meta_graph.meta_info_def.tags))
        for node in graph.node:
            places.setdefault(node.op, set()).add(f"graph [{tags}]")
        for function in graph.library.function:
            for node in function.node_def:
                places.setdefault(node.op, set()).add(f"function {function.signature.name}")
        # Graphs of TensorFlow 1 call a function as if its name were an op.
        for function in graph.library.function:
            places.pop(function.signature.name, None)
    return {op: sorted(places[op]) for op in sorted(places)}


def check_servable(saved_model_dir: str) -> dict:
    """Raises if a stock TensorFlow Serving would refuse the folder for an op it does not know.

    Args:
        saved_model_dir: folder that holds `saved_model.pb`.

    Returns:
        `{"num_ops": number of different ops, "text_ops": sorted TF-Text ops among them}`.

    Raises:
        ValueError: naming every refused op, where it occurs, and how to mend it.
    """
    ops = list_ops(saved_model_dir)
    refused = [op for op in ops if op not in servable_ops()]
    if refused:
        lines = "\n".join(f"  {op}: in {_shown(ops[op])}" for op in refused)
        raise ValueError(
            f"{saved_model_dir} holds {len(refused)} of {len(ops)} ops that a stock TensorFlow "
            f"Serving does not know:\n{lines}\n"
            f"Expected only ops of {SERVABLE_OPS_FILE.name} (TensorFlow and TF-Text 2.12.1). "
            "Use core ops; see docs/serving.md."
        )
    return {"num_ops": len(ops), "text_ops": sorted(servable_text_ops().intersection(ops))}


def _shown(places: list[str]) -> str:
    rest = len(places) - _MAX_PLACES_SHOWN
    shown = ", ".join(places[:_MAX_PLACES_SHOWN])
    return f"{shown} and {rest} more" if rest > 0 else shown


def _read_saved_model(saved_model_dir: str) -> saved_model_pb2.SavedModel:
    file = pathlib.Path(saved_model_dir) / "saved_model.pb"
    if not file.is_file():
        raise ValueError(
            f"{saved_model_dir} holds no saved_model.pb; expected a SavedModel folder, "
            "for example MODEL_NAME/1. Pass the folder that export wrote."
        )
    try:
        return saved_model_pb2.SavedModel.FromString(file.read_bytes())
    except DecodeError as error:
        raise ValueError(
            f"{file} is not a SavedModel ({error}); expected the protocol buffer that export "
            "writes. Was the copy cut short? Export or copy it again."
        ) from error
