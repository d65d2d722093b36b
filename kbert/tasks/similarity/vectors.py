"""Vectors of texts beside each other: how similar they are, and when two of them stand for the same text."""

from numbers import Real
from typing import Any

import numpy as np

from kbert.config.pooling_config import SIMILARITY_FUNCTIONS
from kbert.features import ENCODER_INPUTS
from kbert.files.json_values import shown
from kbert.late_tensorflow import ops
from kbert.layers import unit_length
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import TRUNCATED, Signature, texts_signature

SAME_VECTOR = 0.99  # the least cosine of two vectors that stand for the same text


def cosine(first, second):
    """The cosines of two tensors of vectors of shape (..., width): float32 of shape (...)."""
    return ops.sum(unit_length.unit(first) * unit_length.unit(second), axis=-1)


def text_embeddings(model, inputs: dict):
    """What the model of an `EmbeddingTask` says of texts, each alone: float32 (batch, width), of sparse
    vectors (batch, vocab_size), of late interaction (batch, length, width).

    Args:
      model: the model, as it was trained or as it answers.
      inputs: encoder inputs, int32 (batch, length).
    """
    alone = {name: ops.expand_dims(inputs[name], 1) for name in ENCODER_INPUTS}
    return model(alone, training=False)["embeddings"][:, 0]


def require_vectors(queries, texts, may_be_sparse: bool = False):
    """Raises ValueError for what is no vectors, for those of several widths, those of
    `quantize_embeddings`, and sparse ones unless `may_be_sparse`; each is an array, or a list of arrays or of
    numbers."""
    sides = {"queries": queries, "texts": texts}.items()
    widths = sorted({width for name, side in sides for width in _widths(name, side, may_be_sparse)})
    if len(widths) > 1:
        raise ValueError(
            f"vectors of {' and of '.join(map(str, widths))} numbers cannot be compared; take those of one "
            "model, with the same dimensions."
        )


def _widths(name, side, may_be_sparse):
    parts = list(side) if isinstance(side, list | tuple) and not _is_row(side) else [side]
    for part in parts:
        array = part if hasattr(part, "shape") else _as_array(part)
        is_other = hasattr(array, "toarray") and not may_be_sparse
        if is_other or not array.shape or not _is_numeric(array.dtype):
            raise ValueError(f"{name}: received {shown(part)}; expected vectors, as embed gives them.")
        if "int8" in str(array.dtype):
            raise ValueError(
                f"{name}: received quantized vectors ({array.dtype}), whose numbers are steps or bits of a "
                "byte. Search in them by an index for such bytes (binary ones: Hamming distance), and "
                "give the vectors of embed for what it finds."
            )
        yield array.shape[-1]


def _is_row(values) -> bool:
    return bool(values) and all(isinstance(value, Real) for value in values)


def _as_array(values):
    try:
        return np.asarray(values)
    except ValueError:  # lists of different lengths
        return np.asarray(None)


def _is_numeric(dtype) -> bool:
    return any(part in str(dtype) for part in ("float", "int"))


def comparable_rows(queries, texts) -> tuple[Any, Any]:
    """The rows of both, dense or sparse; `[]`, a row of no numbers by now, is no row of the other's width."""
    queries = queries if queries.shape[1] else texts[:0]
    return queries, texts if texts.shape[1] else queries[:0]


def similarities(queries, texts, function: str = "cosine", unit=None) -> np.ndarray:
    """How similar each query is to each text, float32 (queries, texts); more is more similar.

    Args:
      queries, texts: arrays of vectors, of shapes (queries, width) and (texts, width); one vector is one row.
      function: one of `SIMILARITY_FUNCTIONS`; "euclidean" and "manhattan" are distances with a minus before.
      unit: the function that brings vectors to length 1; by default that of the layers.

    Raises:
      ValueError: for another function or shape.

    Source: sentence-transformers, util/similarity.py, `cos_sim` to `manhattan_sim`.
    """
    queries, texts = (np.atleast_2d(np.asarray(side, np.float32)) for side in (queries, texts))
    if queries.ndim != 2 or texts.ndim != 2:
        raise ValueError(f"vectors of shapes {queries.shape} and {texts.shape}; expected rows of numbers.")
    queries, texts = comparable_rows(queries, texts)
    if function == "cosine":
        unit = unit or unit_length.unit
        queries, texts = np.asarray(unit(queries)), np.asarray(unit(texts))
    if function in ("cosine", "dot"):
        return queries @ texts.T
    if function not in SIMILARITY_FUNCTIONS:
        choices = ", ".join(SIMILARITY_FUNCTIONS)
        raise ValueError(f"similarity={function!r} is not known; choose one of {choices}.")
    order = {"euclidean": 2, "manhattan": 1}[function]
    scores = np.empty((len(queries), len(texts)), np.float32)
    for row, query in enumerate(queries):
        scores[row] = -np.linalg.norm(texts - query, ord=order, axis=-1)
    return scores


def shortened(vectors, dimensions: int, normalize: bool):
    """The first numbers of vectors (texts, width), of length 1 if `normalize`: (texts, dimensions)."""
    return unit_length.unit(vectors[:, :dimensions]) if normalize else vectors[:, :dimensions]


class VectorServing(Serving):
    """Answers that are vectors of texts. `vectors` names them among the outputs of the model."""

    one_text_output = "embedding"
    vectors: str

    def pair_signature(self, embed: Signature) -> Signature:
        """`text`, `text_pair` (string [batch]) -> `cosine` (float32 [batch]), by that of one text."""

        def compare(text, text_pair):
            first, second = embed.function(text), embed.function(text_pair)
            truncated = ops.logical_or(first[TRUNCATED], second[TRUNCATED])
            return {"cosine": cosine(first["embedding"], second["embedding"]), TRUNCATED: truncated}

        return texts_signature(("text", "text_pair"), compare)

    def shortened(self, signatures: dict[str, Signature], dimensions: int) -> dict[str, Signature]:
        """The signatures with the first numbers of every vector, and cosines of these; see `shortened`."""
        cut = {name: self._cut(signature, dimensions) for name, signature in signatures.items()}
        embed = cut.get("embedding", cut["serving_default"])
        return {
            name: self.pair_signature(embed) if "text_pair" in signature.inputs else cut[name]
            for name, signature in signatures.items()
        }

    def _cut(self, signature, dimensions):
        def answer(*inputs, **named):
            outputs = signature.function(*inputs, **named)
            vectors = shortened(outputs["embedding"], dimensions, self.task.pooling.normalize)
            return outputs | {"embedding": vectors}

        return signature._replace(function=answer)

    def answer(self, outputs, inputs):
        """The cosine of two texts, from -1 to 1; of a text alone its embedding, a list of numbers."""
        self.task.pooling.warn_of_named_prompts()
        if "text_pair" in inputs:
            return {"cosine": float(outputs["cosine"])}
        return {"embedding": [float(value) for value in outputs["embedding"]]}

    def same_answers(self, outputs, expected, batch):
        """For each text whether the cosine of both vectors is at least `SAME_VECTOR`."""
        return self.cosines(outputs, expected) >= SAME_VECTOR

    def cosines(self, outputs, expected):
        return np.asarray(cosine(outputs[self.vectors], expected[self.vectors])).reshape(-1)
