"""Cross-entropy of logits. Its gradient is computed from the logits in one pass."""

from keras import ops

from kbert.kernels.kernel import Kernel


def _forward(logits, labels):
    largest = ops.max(logits, axis=-1, keepdims=True)
    log_total = ops.log(ops.sum(ops.exp(logits - largest), axis=-1, keepdims=True))
    chosen = ops.take_along_axis(logits, labels[:, None], axis=-1)
    return (log_total + (largest - chosen))[:, 0], (log_total + largest,)


def _backward(kept, upstream):
    logits, labels, total = kept
    places = ops.arange(ops.shape(logits)[-1], dtype="int32")[None, :]
    chosen = ops.cast(places == labels[:, None], "float32")
    return (ops.exp(logits - total) - chosen) * upstream[:, None], None


_kernel = Kernel(_forward, _backward, keeps=("logits", "labels"))


def cross_entropy(logits, labels):
    """`log(sum(exp(logits))) - logits[label]` of each row.

    Args:
      logits: float32 tensor of shape `(rows, classes)`.
      labels: int32 tensor of shape `(rows,)`.

    Returns:
      float32 tensor of shape `(rows,)`.
    """
    return _kernel(logits, labels)
