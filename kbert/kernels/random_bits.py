"""Which elements a dropout keeps: bits from a hash of seed and place, made again rather than stored."""

from keras import ops

# "lowbias32" of Chris Wellons' hash prospector: two rounds of multiply and shift, exact bias .174.
_FIRST_FACTOR, _SECOND_FACTOR = 0x7FEB352D, 0x846CA68B


def kept_share(shape, rate: float, seed):
    """1 / (1 - rate) at the elements that a dropout keeps and 0 at the others, in float32.

    An element's fate depends on the seed and its place in the tensor alone, so a backward pass makes the
    same mask again, and neither masks nor random numbers are ever stored. It costs five integer operations
    an element inside a compiled loop, where a counter-based generator costs ten rounds.

    Args:
      shape: static or dynamic shape of at most 2**32 elements.
      rate: share that is dropped, in steps of 2**-32.
      seed: uint32 tensor of shape (2,).
    """
    number = 1
    for size in shape:
        number *= size
    first, second = _mixed_seed(seed)
    bits = ops.cast(ops.arange(number, dtype="int32"), "uint32") + first
    bits = _multiplied(bits, 16, _FIRST_FACTOR)
    # Within the hash, so that no two seeds give the same sequence shifted.
    bits = ops.bitwise_xor(bits, second)
    bits = _multiplied(bits, 15, _SECOND_FACTOR)
    bits = _shift_xor(bits, 16)
    keep = 1.0 - rate
    threshold = ops.convert_to_tensor(min(round(keep * 2**32), 2**32 - 1), "uint32")
    return ops.cast(ops.reshape(bits < threshold, shape), "float32") * (1.0 / keep)


def _mixed_seed(seed):
    """Two hashed words: seeds that count up must not give neighbouring words."""
    words = _multiplied(seed + ops.convert_to_tensor(0x9E3779B9, "uint32"), 16, _FIRST_FACTOR)
    words = _shift_xor(_multiplied(words, 15, _SECOND_FACTOR), 16)
    first, second = words[0], words[1]
    return first + second, _shift_xor(_multiplied(second + first * _word(5), 16, _FIRST_FACTOR), 15)


def _word(value):
    return ops.convert_to_tensor(value, "uint32")


def _multiplied(bits, shift, factor):
    return _shift_xor(bits, shift) * _word(factor)


def _shift_xor(bits, shift):
    return ops.bitwise_xor(bits, ops.right_shift(bits, _word(shift)))
