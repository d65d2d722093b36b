"""What the losses and accuracies of tasks are made of."""

from kbert.features import EXAMPLE_WEIGHTS
from kbert.kernels import logits as logits_kernels
from kbert.late_tensorflow import ops
from kbert.tasks.ranking_scores import TIE

_PADDING = -1e9  # added to the logits of padding, whose probability is then 0 in float32


def example_weights(batch):
    """float32 tensor of shape (batch,): 1 for real examples, 0 for those that only fill the last batch."""
    if EXAMPLE_WEIGHTS in batch:
        return batch[EXAMPLE_WEIGHTS]
    return ops.ones(ops.shape(batch["input_ids"])[:1], dtype="float32")


def token_weights(batch):
    """float32 of shape (sequences, seq_length): the example's weight at real tokens, 0 at padding.

    An example of several sequences (multiple choice) has as many rows.
    """
    mask = ops.cast(batch["input_mask"], "float32")
    examples = ops.reshape(example_weights(batch), (-1, *[1] * (len(mask.shape) - 1)))
    return ops.reshape(mask * examples, (-1, ops.shape(mask)[-1]))


def example_sum(values, batch):
    """The sum over the real examples of a tensor of shape (batch,)."""
    return ops.sum(values * example_weights(batch))


def example_mean(values, batch):
    """(sum over the real examples of a tensor of shape (batch,), their number): see `Task.metric_sums`."""
    return example_sum(values, batch), ops.sum(example_weights(batch))


def cross_entropies(logits, labels):
    """Cross-entropy of each element, float32 of shape (...); logits (..., classes), int labels (...).

    NaN where a label is not from 0 to classes - 1.
    """
    labels = ops.convert_to_tensor(labels)
    if "float" in str(labels.dtype):  # as of a table's column with gaps
        labels = ops.where(labels == ops.floor(labels), labels, -1.0)
    flat = ops.reshape(ops.cast(logits, "float32"), (-1, ops.shape(logits)[-1]))
    losses = logits_kernels.cross_entropy(flat, ops.reshape(ops.cast(labels, "int32"), (-1,)))
    return ops.reshape(losses, ops.shape(labels))


def binary_cross_entropies(logits, targets):
    """-z log(sigmoid(x)) - (1 - z) log(1 - sigmoid(x)) of logits x and targets z from 0 to 1, float32 (...).

    In a form whose exponential cannot overflow. NaN for targets below 0 or above 1.
    Source: torch, `BCEWithLogitsLoss`.
    """
    logits, targets = ops.cast(logits, "float32"), ops.cast(targets, "float32")
    targets = ops.where((targets < 0.0) | (targets > 1.0), float("nan"), targets)
    return ops.relu(logits) - logits * targets + ops.log1p(ops.exp(-ops.abs(logits)))


def correct(logits, labels, share_ties: bool = True):
    """float32: how right it is to choose the largest logit; 1.0 for that of the label, 0.0 for any other.

    Where several are the largest, one of n counts 1 / n, as if it were drawn: a model that says the same of
    all classes is as good as guessing, not perfect. Logits within `TIE` are equal: those of equal texts are,
    but for rounding, which depends on the batches that they stood in.

    Args:
      logits: float tensor of shape (..., classes).
      labels: int tensor of shape (...).
      share_ties: False counts 1.0 for each of the largest, which saves a pass over the logits.
    """
    chosen = ops.take_along_axis(logits, ops.expand_dims(ops.cast(labels, "int32"), -1), axis=-1)
    # Argmax is not used, because it is slow on a CPU.
    largest = ops.max(logits, axis=-1, keepdims=True)
    if not share_ties:
        return ops.cast(chosen[..., 0] >= largest[..., 0], "float32")
    largest -= TIE * ops.maximum(1.0, ops.abs(largest))
    num_largest = ops.sum(ops.cast(logits >= largest, "float32"), axis=-1)
    is_largest = ops.cast(chosen[..., 0] >= largest[..., 0], "float32")
    return is_largest / ops.maximum(num_largest, 1.0)  # where a logit is NaN, none is the largest


def mask_padding(logits, batch):
    """The logits with padding left out of the softmax, float32 (batch, seq_length).

    The original leaves padding in. A loss without it does not depend on how a batch is padded or packed.
    """
    mask = ops.cast(batch["input_mask"][:, : ops.shape(logits)[1]], "float32")
    return ops.cast(logits, "float32") + (1.0 - mask) * _PADDING
