"""Checks that an export stores each weight once, and little beside the weights.

Known ways to fail: `ExportArchive.track(model)` stores every weight twice (keras issue 23553), and weights
that became constants lie in the graph, of which a server holds several copies.
"""

from pathlib import Path

import tensorflow as tf

from kbert.files.version_folders import GRAPH_FILE
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES

from ..folder_names import WARMUP_FILE
from .op_gate import saved_nodes

# Of the parameters, for names and padding in the files of the weights.
_SHARE = 1.05
# Numbers of a graph that are no weights: the angles of rotary positions, weights of layers, in a small model.
_FEW = 1024
# For the card and the like: they do not grow with the model.
_REST = 2 * 2**20
# The graph and the requests grow with the signatures, a vocabulary with its tokens.
_AS_LARGE_AS_THEY_ARE = (GRAPH_FILE, WARMUP_FILE, *VOCABULARY_FILES)


def check_stored_once(directory, num_parameters: int) -> dict:
    """Raises if a SavedModel stores more than the parameters of its model.

    Args:
      directory: the folder that holds `saved_model.pb`.
      num_parameters: how many numbers the model has, each shared one counted once.

    Returns:
      dict: parameters, as given; weight_bytes, of the tensors as they are stored; graph_bytes, of
        `saved_model.pb`; bytes, of all files that are there: the card, which says it, comes later.

    Raises:
      ValueError: when it stores more than 1.05 times as many numbers and 1,024, as variables and as constants
        of the graph; or when all files but the graph, the vocabulary and the requests to warm up with are
        together larger than 1.05 times the weights and 2 MiB.
    """
    directory = Path(directory)
    (numbers, weight_bytes), constants = _stored(directory), _constants(directory)
    if numbers + constants > _SHARE * num_parameters + _FEW:
        raise ValueError(
            f"{directory} stores {numbers:,} numbers as variables and {constants:,} in its graph; the "
            f"model has {num_parameters:,} parameters, and each must be stored once. Nothing was exported."
        )
    sizes = {path: path.stat().st_size for path in directory.rglob("*") if path.is_file()}
    rest = sum(size for path, size in sizes.items() if path.name not in _AS_LARGE_AS_THEY_ARE)
    most = _SHARE * weight_bytes + _REST
    if rest > most:
        raise ValueError(
            f"{directory} takes {rest:,} bytes for {weight_bytes:,} bytes of weights, beside its graph, "
            f"vocabulary and warm-up requests; expected at most {round(most):,}. Nothing was exported."
        )
    return {
        "parameters": num_parameters,
        "weight_bytes": weight_bytes,
        "graph_bytes": sizes[directory / GRAPH_FILE],
        "bytes": sum(sizes.values()),
    }


def _stored(directory) -> tuple[int, int]:
    """(numbers, bytes) of the floating-point tensors among the variables."""
    reader = tf.train.load_checkpoint(str(directory / "variables" / "variables"))
    shapes, numbers, size = reader.get_variable_to_shape_map(), 0, 0
    for name, dtype in reader.get_variable_to_dtype_map().items():
        if dtype.is_floating:
            count = tf.TensorShape(shapes[name]).num_elements()
            numbers, size = numbers + count, size + count * dtype.size
    return numbers, size


def _constants(directory) -> int:
    """How many floating-point numbers the constants in the graph and its functions hold."""
    numbers = 0
    for node, _ in saved_nodes(directory):
        if node.op == "Const":
            tensor = node.attr["value"].tensor
            dtype = tf.as_dtype(tensor.dtype)
            if dtype.is_floating:
                numbers += tensor.ByteSize() // dtype.size
    return numbers
