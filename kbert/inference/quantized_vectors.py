"""Vectors of texts in 8 bits or one bit a number."""

import numpy as np

from kbert.cli.warn_once import warn_once

VECTOR_PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
_ENOUGH = 100  # vectors, for ranges; as sentence-transformers counts


def quantize_embeddings(embeddings, precision: str, ranges=None, calibration_embeddings=None):
    """Vectors in fewer bits, with the numbers of sentence-transformers' function of this name.

    Args:
      embeddings: float array (texts, width), as `LoadedModel.embed` gives it; or a list of such matrices, of
        the tokens of texts, which share their ranges.
      precision: "int8" and "uint8" cut the range of each component into 255 equal steps; "binary" and
        "ubinary" keep the signs, eight to a byte, the first in the highest bit; "binary" is that less 128.
      ranges: for int8 and uint8: float array (2, width), the smallest and the largest value of each
        component. What lies outside is cut off.
      calibration_embeddings: in the place of `ranges`: vectors of texts like those that will be searched,
        as `embeddings`, whose ranges are taken. Without both, those of `embeddings`.

    Returns:
      int8 or uint8 array (texts, width), for the binary ones (texts, width / 8, rounded up); or a list.

    Raises:
      ValueError: for another precision, for vectors that are quantized already, not finite, or of another
        width than the ranges, for ranges that are exchanged or not finite, and for those of a single vector,
        which has none; for ranges from two sources, or beside a precision that has none.

    Source: sentence-transformers, util/quantization.py, `quantize_embeddings`.

    Examples:
      >>> import numpy as np
      >>> import kbert
      >>> vectors = np.array([[0.5, -1.0], [-0.5, 1.0], [0.1, 0.0]], np.float32)
      >>> kbert.quantize_embeddings(vectors, "int8", ranges=[[-1, -1], [1.5, 1.5]]).tolist()
      [[25, -128], [-77, 76], [-16, -26]]
      >>> kbert.quantize_embeddings(vectors, "ubinary").tolist()
      [[128], [64], [128]]
    """
    if precision not in VECTOR_PRECISIONS:
        choices = ", ".join(VECTOR_PRECISIONS)
        raise ValueError(f"precision={precision!r} of vectors is not known; choose one of {choices}.")
    every = _vectors(embeddings, "embeddings")
    _require_one_source(precision, {"ranges": ranges, "calibration_embeddings": calibration_embeddings})
    if precision.endswith("int8") and len(every):
        ranges = _ranges(every, ranges, calibration_embeddings)
    quantized = _quantized(every, precision, ranges)
    if not _are_matrices(embeddings):
        return quantized
    return np.split(quantized, np.cumsum([len(matrix) for matrix in embeddings])[:-1])


def _require_one_source(precision, sources):
    received = " and ".join(name for name, value in sources.items() if value is not None)
    if received and not precision.endswith("int8"):
        raise ValueError(
            f"{received} beside precision={precision!r}, which has no ranges; leave out {received}."
        )
    if " and " in received:
        raise ValueError(f"{received}: both say the ranges of int8 and uint8; give one of them.")


def _are_matrices(vectors):
    return isinstance(vectors, list | tuple) and len(vectors) > 0 and np.ndim(vectors[0]) == 2


def _vectors(vectors, name):
    """The vectors of an argument as one array, those of several matrices behind each other."""
    try:
        every = np.concatenate(vectors) if _are_matrices(vectors) else np.asarray(vectors)
    except ValueError:
        raise ValueError(f"{name}: the vectors have different widths; expected those of one model.") from None
    if every.dtype.kind != "f":
        raise ValueError(f"{name} are {every.dtype}; expected the floating-point numbers of `embed`.")
    if every.ndim not in (1, 2) or not np.isfinite(every).all():
        raise ValueError(
            f"{name}: expected vectors of finite numbers; received an array of shape {every.shape}."
        )
    return every


def _ranges(vectors, ranges, calibration):
    if ranges is None:
        sample = vectors if calibration is None else _vectors(calibration, "calibration_embeddings")
        sample = np.atleast_2d(sample)
        if len(sample) < 2:
            raise ValueError(
                "one vector has no ranges; give ranges, or calibration_embeddings of many texts."
            )
        if len(sample) < _ENOUGH:
            warn_once(
                f"The ranges are those of {len(sample)} vectors: others, and queries, may lie outside, and "
                "vectors of other ranges cannot be compared. Give ranges, or calibration_embeddings of some "
                "hundred texts."
            )
        ranges = np.stack([sample.min(axis=0), sample.max(axis=0)])
    ranges = np.asarray(ranges, np.float32)
    if ranges.shape != (2, vectors.shape[-1]):
        raise ValueError(
            f"the ranges have the shape {ranges.shape}; vectors of this width need (2, {vectors.shape[-1]})."
        )
    if not (np.isfinite(ranges).all() and (ranges[0] <= ranges[1]).all()):
        raise ValueError("ranges: expected finite numbers, of each component the smallest, then the largest.")
    return ranges


def _quantized(vectors, precision, ranges):
    if precision == "float32":
        return vectors.astype(np.float32)
    if precision.endswith("binary"):
        bits = np.packbits(vectors > 0, axis=-1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    if not len(vectors):
        return vectors.astype(precision)
    lowest, steps = ranges[0], (ranges[1] - ranges[0]) / 255
    cut = np.clip(np.floor((vectors - lowest) / np.where(steps == 0, 1, steps)), 0, 255)
    return cut.astype(np.uint8) if precision == "uint8" else (cut - 128).astype(np.int8)
