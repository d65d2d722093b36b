"""The regularization that makes vectors sparse: FLOPS, and how its weight rises."""

from kbert.late_tensorflow import ops
from kbert.tasks.similarity.in_batch_loss import all_rows, own_rows

_RISING = 1 / 3  # of the training


def flops_sum(outputs, batch, task, texts: slice):
    """The replica's share of FLOPS: the sum over words of the square of their mean weight, times the texts.

    The mean is over the texts of all replicas. Divided by the number of their texts the shares add up to
    FLOPS, and their gradients to its gradient.

    Args:
      outputs, batch: as for `Task.loss_sums`.
      task: an `InBatchTask` whose vectors are as wide as the vocabulary.
      texts: which texts of each row.

    Returns:
      float32 scalar.

    Reference: arXiv 2004.05665, equation 4 (FLOPS); 2107.05720, section 3.3.
    """
    own, (everyone, _) = own_rows(outputs, batch, task), all_rows(outputs, batch, task)
    number = ops.sum(everyone.weights) * ops.cast(ops.shape(own.texts[:, texts])[1], "float32")
    means = _sums(everyone, texts) / ops.maximum(number, 1.0)
    return ops.sum(_sums(own, texts) * means)


def _sums(rows, texts):
    """Of each word the sum of its weights over texts: (V,)."""
    return ops.sum(rows.texts[:, texts] * rows.weights[:, None, None], axis=(0, 1))


def ramp(progress):
    """The share of its weight that the regularization has: it rises with the square of the steps taken, to 1
    after a third of the training.

    Reference: arXiv 2107.05720, section 4 ("quadratically").
    """
    share = ops.minimum(ops.cast(progress, "float32") / _RISING, 1.0)
    return ops.square(share)
