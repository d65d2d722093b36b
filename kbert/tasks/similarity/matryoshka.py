"""Vectors whose first numbers are vectors of their own: the loss of each length, all together."""

from collections.abc import Iterator

from kbert.checks import require
from kbert.cli.warn_once import warn_once
from kbert.config.pooling_config import require_dimensions
from kbert.tasks.task import ALL_REPLICAS


def nested_outputs(outputs: dict, dims: tuple[int, ...]) -> Iterator[dict]:
    """The outputs of a model with the first d numbers of each vector, for each d; as they are without any.

    A loss of vectors is the sum over these, with weights 1.

    Args:
      outputs: have `embeddings` (rows, texts, width), of all replicas too.
      dims: the lengths.

    Raises:
      ValueError: for a length that the vectors do not have.

    Source: arXiv 2205.13147, section 3; sentence-transformers, losses/MatryoshkaLoss.py.
    """
    require_dims(dims, outputs["embeddings"].shape[-1])
    if not dims:
        yield outputs
    for dimensions in dims:
        yield _cut(outputs, dimensions)


def _cut(outputs, dimensions):
    cut = outputs | {"embeddings": outputs["embeddings"][..., :dimensions]}
    if ALL_REPLICAS in outputs:
        cut[ALL_REPLICAS] = _cut(outputs[ALL_REPLICAS], dimensions)
    return cut


def require_dims(dims: tuple[int, ...], width: int | None = None):
    """Raises ValueError for lengths that vectors of this width do not have; None is any width. Warns where
    the whole vectors, which scores and answers are of, are not trained."""
    require(len(set(dims)) == len(dims), f"matryoshka_dims={list(dims)} has a number twice.")
    for dimensions in dims:
        require_dimensions("matryoshka_dims", dimensions, width)
    if dims and width and width not in dims:
        warn_once(
            f"matryoshka_dims={list(dims)}: the vectors have {width} numbers, and those after the first "
            f"{max(dims)} are not trained, though scores and answers are of all. Add {width}, or ask for "
            f"dimensions={max(dims)}."
        )
