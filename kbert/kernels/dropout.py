"""Dropout alone, for places where no other kernel includes it."""

from keras import ops

from kbert.kernels.kernel import Kernel
from kbert.kernels.random_bits import dropout_mask
from kbert.kernels.rounding import rounded


def _scaled(x, seed, rate):
    return rounded(ops.cast(x, "float32") * dropout_mask(ops.shape(x), rate, seed), x.dtype)


def _forward(x, seed, *, rate):
    return _scaled(x, seed, rate), ()


def _backward(kept, upstream, *, rate):
    (seed,) = kept
    return _scaled(upstream, seed, rate), None


_kernel = Kernel(_forward, _backward, keeps=("seed",))


def dropout(x, seed, rate: float):
    """Sets a share `rate` of `x`'s elements to 0 and scales up the others; `seed` as for `dropout_mask`."""
    return _kernel(x, seed, rate=rate)
