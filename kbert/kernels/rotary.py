"""Rotary positions: queries and keys are turned by angles that grow with their position."""

from keras import ops

from kbert.kernels.arithmetic import rounded
from kbert.kernels.kernel import Kernel


def angles(positions, head_size: int, theta: float):
    """By how much each pair of numbers of a head is turned at each position: float32 `(..., head_size / 2)`.

    Args:
      positions: tensor of shape `(...)`.
      head_size: an even number.
      theta: the base; the angle of pair i is `position / theta ** (2 i / head_size)`.

    Reference: arXiv 2104.09864 (RoFormer), section 3.2.2; the pairs are those of transformers: a number of
    the first half of a head with one of the second.
    """
    exponents = ops.arange(0, head_size, 2, dtype="float32") / head_size
    return ops.cast(positions, "float32")[..., None] * (1.0 / theta**exponents)


def turned(x, cos, sin):
    """Each pair of numbers turned: x float32 `(..., D)`, cos and sin that broadcast to `(..., D / 2)`."""
    first, second = ops.split(x, 2, axis=-1)
    return ops.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _forward(x, cos, sin):
    return rounded(turned(ops.cast(x, "float32"), cos, sin), x.dtype), ()


def _backward(kept, upstream):
    cos, sin = kept
    return rounded(turned(ops.cast(upstream, "float32"), cos, -sin), upstream.dtype), None, None


_kernel = Kernel(_forward, _backward, keeps=("cos", "sin"))


def rotary(x, at, training: bool):
    """Turns heads by the angles of their positions.

    Only the distance of two tokens matters to their score, so a text may stand at any column.

    Args:
      x: tensor of shape `(..., head_size)`.
      at: `angles`, of a shape that broadcasts to `(..., head_size / 2)`.
      training: whether to use a kernel.

    Returns:
      Tensor like `x`; computed in float32.
    """
    if training:
        return _kernel(x, ops.cos(at), ops.sin(at))
    return ops.cast(turned(ops.cast(x, "float32"), ops.cos(at), ops.sin(at)), x.dtype)
