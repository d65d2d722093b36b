"""Rounding by integer operations gives the bits of TensorFlow's own conversion."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.kernels.arithmetic import rounded

RNG = np.random.default_rng(3)
UPPER = np.arange(2**16, dtype=np.uint32) << 16
FINITE = (UPPER & 0x7F800000) != 0x7F800000
# Every bfloat16, and the float32 numbers at and beside the middle between it and the next one.
PATTERNS = np.concatenate([UPPER[FINITE] + lower for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
RANDOM = RNG.integers(0, 2**32, 100_000, dtype=np.uint32)
RANDOM = RANDOM[(RANDOM & 0x7F800000) != 0x7F800000]


@pytest.mark.parametrize("jit_compile", [True, False])
@pytest.mark.parametrize("bits", [PATTERNS, RANDOM], ids=["middles", "random"])
def test_every_number_goes_to_its_nearest_neighbour(bits, jit_compile):
    numbers = tf.constant(bits.view(np.float32))
    got = tf.function(lambda x: rounded(x, "bfloat16"), jit_compile=jit_compile)(numbers)
    assert got.dtype == tf.bfloat16
    want = tf.cast(numbers, tf.bfloat16)
    np.testing.assert_array_equal(tf.bitcast(got, tf.uint16), tf.bitcast(want, tf.uint16))


@pytest.mark.parametrize("jit_compile", [True, False])
def test_infinity_and_quiet_nan_stay_what_they_are(jit_compile):
    """NaN of arithmetic has the fraction's first bit: 0x7fc00000 on CPUs, 0x7fffffff on NVIDIA's GPUs."""
    nan = [0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFF8000, 0x7FFF7FFF, 0xFFC00001]
    bits = np.array([0x7F800000, 0xFF800000, *nan], np.uint32)
    numbers = tf.constant(bits.view(np.float32))
    got = tf.function(lambda x: rounded(x, "bfloat16"), jit_compile=jit_compile)(numbers)
    np.testing.assert_array_equal(tf.cast(got, tf.float32), [np.inf, -np.inf] + [np.nan] * len(nan))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_other_dtypes_are_cast(dtype):
    numbers = tf.constant(RNG.normal(size=1000).astype(np.float32))
    got = rounded(numbers, dtype)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, tf.cast(numbers, dtype))
