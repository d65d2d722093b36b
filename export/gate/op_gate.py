"""Checks before an export that stock servers know all ops of a SavedModel, and may run them.

A server refuses a whole model for one op that it does not know ("Op type not registered"). No
Python test notices this, because Python has the ops of a newer TensorFlow and TF-Text. So the
names in the finished graph are compared to the ops of the servers in use (`server_releases.py`).
A server also refuses to call a function that must be compiled (`jit_compile=True`), since XLA is
off there by default (its flag `--xla_cpu_compilation_enabled`).

Of ops only names are compared. Loading the folder (`export/gate/saved_model_session.py`) shows whether
attributes and kernels fit, in this TensorFlow and, in CI, in 2.12.1 (`make test-servers`).
"""

import pathlib
from collections.abc import Iterator

from google.protobuf.message import DecodeError
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import saved_model_pb2

from kbert.files.json_values import first_few

from .server_releases import oldest_server_with, releases_from

_MAX_SHOWN = 3


def list_ops(saved_model_dir: str) -> dict[str, list[str]]:
    """Lists every op of a SavedModel and where it occurs.

    All meta graphs are read, each with its function library: a model saved by TensorFlow 2 keeps
    nearly all its ops in functions.

    Args:
      saved_model_dir: folder that holds `saved_model.pb`.

    Returns:
      Op name -> where it occurs, sorted: `graph [tags]` or `function NAME`. A call of a
      function by its own name is not an op and is left out.
    """
    graphs: dict[str, set[str]] = {}
    for node, graph in saved_nodes(saved_model_dir):
        graphs.setdefault(node.op, set()).add(graph)
    return {op: sorted(graphs[op]) for op in sorted(graphs)}


def saved_nodes(saved_model_dir) -> Iterator[tuple[node_def_pb2.NodeDef, str]]:
    """Yields (node, name of its graph) of all graphs and functions; a call by a function's name is no op."""
    for meta_graph in read_saved_model(saved_model_dir).meta_graphs:
        graph, tags = meta_graph.graph_def, ",".join(sorted(meta_graph.meta_info_def.tags))
        functions = {function.signature.name: function.node_def for function in graph.library.function}
        nodes = [(node, f"graph [{tags}]") for node in graph.node]
        nodes += [(node, f"function {name}") for name in functions for node in functions[name]]
        # Graphs of TensorFlow 1 call a function as if its name were an op.
        yield from ((node, graph_name) for node, graph_name in nodes if node.op not in functions)


def check_servable(saved_model_dir: str, min_server_version: str | None = None) -> dict:
    """Raises if a stock TensorFlow Serving in use would refuse an op or a function of the folder.

    Args:
      saved_model_dir: folder that holds `saved_model.pb`.
      min_server_version: the oldest server in use, for example "2.14"; it and all newer ones must
        know every op. By default the oldest whose ops are known.

    Returns:
      `{"num_ops": number of different ops, "text_ops": sorted TF-Text ops among them,
      "oldest_server": the oldest server that knows them all, for example "2.12"}`.

    Raises:
      ValueError: naming every refused op, the functions and nodes it comes from, the oldest
        server that has it, and how to fix it; naming functions that must be compiled; or for
        a version that is none.
    """
    releases = releases_from(min_server_version)
    compiled = sorted(
        function.signature.name
        for meta_graph in read_saved_model(saved_model_dir).meta_graphs
        for function in meta_graph.graph_def.library.function
        if function.attr["_XlaMustCompile"].b
    )
    if compiled:
        raise ValueError(
            f"{saved_model_dir} holds functions that XLA must compile: {first_few(compiled, _MAX_SHOWN)}. A "
            "stock TensorFlow Serving refuses to run them. Expected functions without jit_compile=True."
        )
    ops = list_ops(saved_model_dir)
    known = frozenset.intersection(*(release.ops for release in releases))
    refused = [op for op in ops if op not in known]
    if refused:
        # The name of a node tells the layer or the line that made it; that of the first is enough.
        nodes = {node.op: node.name for node, _ in reversed(list(saved_nodes(saved_model_dir)))}
        lines = "\n".join(
            f"  {op}: in {first_few(ops[op], _MAX_SHOWN)}, node {nodes[op]}; {_first_server(op)}"
            for op in refused
        )
        raise ValueError(
            f"{saved_model_dir} holds {len(refused)} of {len(ops)} ops that a stock TensorFlow "
            f"Serving {releases[0].name} does not know:\n{lines}\n"
            f"Expected only ops of TensorFlow and TF-Text {releases[0].text}. Use core ops, or name a newer "
            "server by --min_server_version if all of yours are that new; see docs/serving.md."
        )
    text_ops = frozenset().union(*(release.text_ops for release in releases))
    return {
        "num_ops": len(ops),
        "text_ops": sorted(text_ops.intersection(ops)),
        "oldest_server": oldest_server_with(ops),
    }


def _first_server(op: str) -> str:
    oldest = oldest_server_with([op])
    return f"servers have it from {oldest} on" if oldest else "no known server has it"


def read_saved_model(saved_model_dir: str) -> saved_model_pb2.SavedModel:
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
