"""Vectors in fewer bits: within a step of the vectors, and the numbers of sentence-transformers."""

import json
from pathlib import Path

import numpy as np
import pytest

from kbert.inference.quantized_vectors import quantize_embeddings

GOLDEN = Path(__file__).resolve().parents[4] / "shared" / "data" / "golden" / "retrieval" / "quantized.json"
VECTORS = np.random.default_rng(1).normal(size=(20, 13)).astype(np.float32)


def test_a_quantized_number_is_within_a_step():
    steps = np.ptp(VECTORS, axis=0) / 255
    for precision, lowest in (("int8", -128), ("uint8", 0)):
        found = quantize_embeddings(VECTORS, precision)
        assert found.dtype == precision and found.shape == VECTORS.shape
        back = VECTORS.min(axis=0) + (found.astype(float) - lowest) * steps
        assert (np.abs(back - VECTORS) <= steps * 1.001).all()


def test_signs_are_kept():
    for precision, lowest in (("binary", -128), ("ubinary", 0)):
        found = quantize_embeddings(VECTORS, precision)
        bits = np.unpackbits((found.astype(int) - lowest).astype(np.uint8), axis=1)[:, :13]
        np.testing.assert_array_equal(bits, VECTORS > 0)


def test_matrices_of_tokens_share_their_ranges():
    parts = [VECTORS[:3], VECTORS[3:3], VECTORS[3:]]
    found = quantize_embeddings(tuple(parts), "int8")
    assert list(map(len, found)) == [3, 0, 17]
    np.testing.assert_array_equal(np.concatenate(found), quantize_embeddings(VECTORS, "int8"))
    calibrated = quantize_embeddings(VECTORS[:3], "int8", calibration_embeddings=parts)
    np.testing.assert_array_equal(calibrated, found[0])


def test_ranges_of_few_vectors_are_warned_of(caplog):
    """Of two vectors every number is an end of its range."""
    many = np.random.default_rng(2).normal(size=(100, 13)).astype(np.float32)
    quantize_embeddings(VECTORS[:2], "int8", calibration_embeddings=many)
    quantize_embeddings(VECTORS[:2], "binary")
    assert not caplog.text
    quantize_embeddings(VECTORS[:2], "int8")
    assert "The ranges are those of 2 vectors" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((VECTORS, "int4"), "int4"),
        ((VECTORS[:1], "int8"), "calibration_embeddings"),
        ((VECTORS[0], "int8"), "one vector has no ranges"),
        ((VECTORS, "int8", None, VECTORS * np.nan), "calibration_embeddings: .*finite"),
        ((VECTORS, "int8", None, VECTORS.astype(int)), "calibration_embeddings are int"),
        ((VECTORS, "int8", None, [VECTORS, VECTORS[:, :5]]), "calibration_embeddings: .*different widths"),
        ((VECTORS, "int8", None, VECTORS[:, :5]), "13"),
        ((VECTORS, "int8", [VECTORS.max(axis=0), VECTORS.min(axis=0)]), "the smallest, then the largest"),
        ((VECTORS, "int8", [VECTORS[0] * np.nan, VECTORS[0]]), "ranges: expected finite numbers"),
        ((VECTORS, "int8", np.zeros((2, 5))), "13"),
        ((VECTORS.astype(np.int8), "int8"), "int8"),
        ((VECTORS * np.nan, "binary"), "finite"),
        (
            (VECTORS, "binary", VECTORS[:2]),
            "ranges beside precision='binary', which has no ranges; leave out",
        ),
        ((VECTORS, "float32", None, VECTORS), "calibration_embeddings beside precision='float32'"),
        ((VECTORS, "uint8", VECTORS[:2], VECTORS), "ranges and calibration_embeddings: both say"),
    ],
)
def test_what_cannot_be_is_refused(arguments, word):
    with pytest.raises(ValueError, match=word):
        quantize_embeddings(*arguments)


@pytest.mark.skipif(not GOLDEN.exists(), reason="no shared data: golden/retrieval")
def test_the_numbers_of_sentence_transformers():
    golden = json.loads(GOLDEN.read_text())
    vectors = np.array(golden["vectors"], np.float32)
    for precision in ("int8", "uint8", "binary", "ubinary"):
        ranges = np.array(golden["ranges"]) if precision.endswith("int8") else None
        found = quantize_embeddings(vectors, precision, ranges)
        wrong = found.astype(int) - golden[precision]
        # The file has seven digits of each number: three lie at a step's border, where theirs differ too.
        assert np.abs(wrong).max() <= 1 and np.count_nonzero(wrong) <= 3
