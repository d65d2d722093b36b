"""The losses over all positives and negatives of a batch, and who is right in it."""

from typing import Any, NamedTuple

from kbert.features import EXAMPLE_WEIGHTS, TARGET_FEATURE, TEACHER_SCORES
from kbert.late_tensorflow import ops
from kbert.tasks.losses import correct, cross_entropies, example_weights
from kbert.tasks.task import ALL_REPLICAS

COUPLED = ("embeddings", TARGET_FEATURE, EXAMPLE_WEIGHTS)
_NO_CANDIDATE = -1e9  # the logit of a row that only fills the batch: its probability is 0


class Rows(NamedTuple):
    """The rows of a batch that rank each other.

    Fields:
      texts: float32 tensor (rows, texts, ...), as the task compares them: query, positive, negatives.
      weights: float32 tensor (rows,): 1, or 0 for rows with a score and rows that only fill the batch.
    """

    texts: Any
    weights: Any


def own_rows(outputs, batch, task) -> Rows:
    """The rows of the replica."""
    values = {name: outputs[name] if name in outputs else batch.get(name) for name in task.coupled}
    return _rows(task, values | {EXAMPLE_WEIGHTS: example_weights(batch)})


def all_rows(outputs, batch, task):
    """(the rows of all replicas, the index of the replica's first row in them)."""
    if ALL_REPLICAS not in outputs:
        return own_rows(outputs, batch, task), 0
    everyone = outputs[ALL_REPLICAS]
    return _rows(task, everyone), everyone["first_row"]


def row_weights(batch):
    """float32 (rows,): 1 for the rows that are ranked."""
    return _ranked(batch.get(TARGET_FEATURE), example_weights(batch))


def _rows(task, values):
    return Rows(task.comparable(values), _ranked(values[TARGET_FEATURE], values[EXAMPLE_WEIGHTS]))


def _ranked(targets, weights):
    """The weights of rows without a score, which are all of a batch without targets."""
    return weights if targets is None else weights * ops.cast(ops.isnan(targets), "float32")


def forward_logits(own: Rows, everyone: Rows, task):
    """Each query with all positives, then all negatives: float32 (rows, candidates)."""
    candidates, weights = everyone.texts[:, 1], everyone.weights
    texts = ops.shape(everyone.texts)[1]
    negatives = ops.reshape(everyone.texts[:, 2:], (-1, *ops.shape(everyone.texts)[2:]))
    candidates = ops.concatenate([candidates, negatives], axis=0)
    weights = ops.concatenate([weights, ops.repeat(weights, texts - 2)], axis=0)
    return _logits(own.texts[:, 0], candidates, weights, task)


def backward_logits(own: Rows, everyone: Rows, task):
    """Each positive with all queries: float32 (rows, all rows)."""
    return _logits(own.texts[:, 1], everyone.texts[:, 0], everyone.weights, task)


def _logits(queries, candidates, weights, task):
    return ops.where(weights > 0, task.compare(queries, candidates), _NO_CANDIDATE)


def ranking_sums(outputs, batch, task, symmetric: bool = False) -> dict:
    """Sums over the replica's own rows, with candidates from all replicas.

    Args:
      outputs, batch: as for `Task.loss_sums`.
      task: an `InBatchTask`, whose `compare` gives the logits.
      symmetric: the mean of the losses of both directions.

    Returns:
      {"loss", "batch_accuracy", "weight"}: float32 scalars; the accuracy is that of the forward direction.
    """
    own = own_rows(outputs, batch, task)
    everyone, first = all_rows(outputs, batch, task)
    labels = first + ops.arange(ops.shape(own.weights)[0], dtype="int32")
    logits = forward_logits(own, everyone, task)
    losses = cross_entropies(logits, labels)
    if symmetric:
        losses = (losses + cross_entropies(backward_logits(own, everyone, task), labels)) / 2
    return {
        "loss": ops.sum(losses * own.weights),
        "batch_accuracy": ops.sum(correct(logits, labels) * own.weights),
        "weight": ops.sum(own.weights),
    }


def own_scores(outputs, batch, task):
    """What the task says of each query with the other texts of its row: float32 (rows, texts - 1)."""
    texts = own_rows(outputs, batch, task).texts
    return task.compare(texts[:, :1], texts[:, 1:])[:, 0]


def taught_weights(batch):
    """float32 (rows,): 1 for rows with a teacher's scores that do not only fill the batch."""
    known = ops.logical_not(ops.any(ops.isnan(batch[TEACHER_SCORES]), axis=-1))
    return example_weights(batch) * ops.cast(known, "float32")


def margin_mse_sum(outputs, batch, task):
    """MarginMSE, summed over rows: float32 scalar.

    Of each row the mean over its negatives of the squared difference of two margins, the task's and the
    teacher's; a margin is the score of the positive less that of the negative.

    Reference: arXiv 2010.02666, equation 5; sentence-transformers, losses/MarginMSELoss.py.
    """
    weights, scores = taught_weights(batch), own_scores(outputs, batch, task)
    taught = ops.where(weights[:, None] > 0, batch[TEACHER_SCORES], 0.0)
    margins = (scores[:, :1] - scores[:, 1:]) - (taught[:, :1] - taught[:, 1:])
    return ops.sum(ops.mean(ops.square(margins), axis=-1) * weights)


def divergence_sum(outputs, batch, task):
    """The Kullback-Leibler divergence of two softmaxes over the texts of a row, the teacher's and the task's,
    summed over rows: float32 scalar.

    Reference: arXiv 2112.01488, section 3.2; sentence-transformers, multi_vector_encoder/losses/
    distill_kl_div.py, at its temperature of 1.
    """
    weights, scores = taught_weights(batch), own_scores(outputs, batch, task)
    taught = ops.where(weights[:, None] > 0, batch[TEACHER_SCORES], 0.0)
    teacher, student = ops.log_softmax(taught, axis=-1), ops.log_softmax(scores, axis=-1)
    return ops.sum(ops.sum(ops.exp(teacher) * (teacher - student), axis=-1) * weights)
