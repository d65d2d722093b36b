"""Vectors whose first numbers are vectors of their own: the loss of each length, all together."""

from collections.abc import Iterator

from kbert.checks import require
from kbert.config.pooling_config import require_dimensions
from kbert.tasks.task import ALL_REPLICAS


def nested_outputs(outputs: dict, dims: tuple[int, ...]) -> Iterator[dict]:
    """The outputs of a model with the first d numbers of each vector, for each d; as they are without any.

    A loss of vectors is the sum over these, with weights 1.

    Args:
      outputs: have `embeddings` (rows, texts, width), of all replicas too.
      dims: the lengths.

    Source: arXiv 2205.13147, section 3; sentence-transformers, losses/MatryoshkaLoss.py.
    """
    if not dims:
        yield outputs
    for dimensions in dims:
        yield _cut(outputs, dimensions)


def _cut(outputs, dimensions):
    cut = outputs | {"embeddings": outputs["embeddings"][..., :dimensions]}
    if ALL_REPLICAS in outputs:
        cut[ALL_REPLICAS] = _cut(outputs[ALL_REPLICAS], dimensions)
    return cut


def require_dims(dims: tuple[int, ...]):
    """Raises ValueError for lengths that no vectors have."""
    require(len(set(dims)) == len(dims), f"matryoshka_dims={list(dims)} has a number twice.")
    for dimensions in dims:
        require_dimensions("matryoshka_dims", dimensions)


def require_nested(task, config):
    """Raises ValueError for lengths that the vectors of a task do not have in a training with this config."""
    for dimensions in task.settings.matryoshka_dims:
        width = task.pooling.width(config.encoder.hidden_size)
        require_dimensions("matryoshka_dims", dimensions, width)
