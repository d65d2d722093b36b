"""Dropout, by a hash of seed and position: masks are computed again rather than stored."""

import math

import keras
from keras import ops

from kbert.kernels.arithmetic import rounded
from kbert.kernels.kernel import Kernel

# "lowbias32" of Chris Wellons' hash prospector: two rounds of multiply and shift, exact bias .174.
_FIRST_FACTOR, _SECOND_FACTOR = 0x7FEB352D, 0x846CA68B


def dropout_mask(shape, rate: float, seed):
    """1 / (1 - rate) at the elements that a dropout keeps and 0 at the others, in float32.

    Whether an element is kept depends only on the seed and on its position in the tensor. So a backward pass
    computes the same mask again, and neither masks nor random numbers are ever stored. Inside a compiled loop
    the hash costs about ten integer operations per element; a counter-based generator takes ten rounds of
    several each.

    Args:
      shape: static or dynamic shape of fewer than 2**31 elements (positions are counted in int32).
      rate: share that is dropped, in steps of 2**-32.
      seed: uint32 tensor of shape (2,).
    """
    first, second = _mixed_seed(seed)
    bits = _positions(shape, first)
    bits = _multiplied(bits, 16, _FIRST_FACTOR)
    # Inside the hash, so that the sequence of one seed is never that of another one shifted.
    bits = ops.bitwise_xor(bits, second)
    bits = _multiplied(bits, 15, _SECOND_FACTOR)
    bits = _shift_xor(bits, 16)
    keep = 1.0 - rate
    threshold = ops.convert_to_tensor(min(round(keep * 2**32), 2**32 - 1), "uint32")
    return ops.cast(bits < threshold, "float32") * (1.0 / keep)


def dropped(x, rate: float, seed):
    """A float32 tensor with dropout, inside of a kernel; `x` itself where `rate` is 0."""
    return x * dropout_mask(ops.shape(x), rate, seed) if rate else x


def seed_words(state):
    """The state of a `keras.random.SeedGenerator` as a seed of `dropout_mask`.

    The state's second number counts draws: 1,024 for each part of a training step, so its lower 32 bits
    repeat after 2**22 parts. The upper half of the count is therefore mixed into both words. While it is 0,
    the words are just the lower halves.

    Args:
      state: integer tensor of shape (2,); int64 under TensorFlow, 32 bits elsewhere.

    Returns:
      uint32 tensor of shape (2,).
    """
    words = ops.cast(state, "uint32")
    if keras.backend.standardize_dtype(state.dtype) != "int64":
        return words
    once = hashed(ops.cast(ops.right_shift(state[1], 32), "uint32"))  # the hash of 0 is 0
    return ops.bitwise_xor(words, ops.stack([once, hashed(once)]))


def _positions(shape, first):
    """first, first + 1, first + 2 ... in a tensor of this shape.

    Rows and columns are counted by themselves, which XLA does faster. `first` comes in between, so that the
    positions do not become a constant as large as the tensor.
    """
    *outer, width = shape
    rows = ops.arange(math.prod(outer), dtype="int32") * width
    starts = ops.cast(ops.reshape(rows, (*outer, 1)), "uint32") + first
    return starts + ops.cast(ops.arange(width, dtype="int32"), "uint32")


def _mixed_seed(seed):
    """Two hashed words: seeds that count up must not give neighbouring words."""
    words = hashed(seed + _word(0x9E3779B9))
    first, second = words[0], words[1]
    return first + second, _shift_xor(_multiplied(second + first * _word(5), 16, _FIRST_FACTOR), 15)


def hashed(bits):
    """uint32 tensor -> one of its shape whose bits look random, the same for the same bits; 0 stays 0."""
    return _shift_xor(_multiplied(_multiplied(bits, 16, _FIRST_FACTOR), 15, _SECOND_FACTOR), 16)


def _word(value):
    return ops.convert_to_tensor(value, "uint32")


def _multiplied(bits, shift, factor):
    return _shift_xor(bits, shift) * _word(factor)


def _shift_xor(bits, shift):
    return ops.bitwise_xor(bits, ops.right_shift(bits, _word(shift)))


def _forward(x, seed, *, rate):
    return rounded(dropped(ops.cast(x, "float32"), rate, seed), x.dtype), ()


def _backward(kept, upstream, *, rate):
    (seed,) = kept
    return rounded(dropped(ops.cast(upstream, "float32"), rate, seed), upstream.dtype), None


_kernel = Kernel(_forward, _backward, keeps=("seed",))


def dropout(x, seed, rate: float):
    """Sets a share `rate` of `x`'s elements to 0 and scales up the others; `seed` as for `dropout_mask`."""
    return _kernel(x, seed, rate=rate)
