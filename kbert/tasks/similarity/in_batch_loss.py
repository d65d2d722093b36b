"""The cross-entropy over all positives and negatives of a batch, and who is right in it."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from keras import ops

from kbert.config.checks import require
from kbert.features import EXAMPLE_WEIGHTS, TARGET_FEATURE
from kbert.layers.vector_dense import unit
from kbert.tasks.losses import correct, cross_entropies, example_weights
from kbert.tasks.similarity.embedding_task import EmbeddingSettings
from kbert.tasks.task import ALL_REPLICAS

COUPLED = ("embeddings", TARGET_FEATURE, EXAMPLE_WEIGHTS)
_NO_CANDIDATE = -1e9  # the logit of a row that only fills the batch: its probability is 0


@dataclass(frozen=True)
class RankingSettings(EmbeddingSettings):
    """The settings of `MultipleNegativesRanking`.

    `scale` multiplies the cosines before the softmax; 20 is sentence-transformers' default. `symmetric` adds
    the other direction: which query belongs to each positive.
    """

    scale: float = 20.0
    symmetric: bool = False

    def __post_init__(self):
        super().__post_init__()
        require(
            math.isfinite(self.scale) and self.scale > 0, f"scale={self.scale:g} must be a positive number."
        )


class Rows(NamedTuple):
    """The rows of a batch that rank each other.

    Fields:
      texts: float32 tensor (rows, texts, width) of length 1: query, positive, negatives.
      weights: float32 tensor (rows,): 1, or 0 for rows with a score and rows that only fill the batch.
    """

    texts: Any
    weights: Any


def own_rows(outputs, batch) -> Rows:
    """The rows of the replica."""
    return _rows(outputs["embeddings"], batch[TARGET_FEATURE], example_weights(batch))


def all_rows(outputs, batch):
    """(the rows of all replicas, the index of the replica's first row in them)."""
    if ALL_REPLICAS not in outputs:
        return own_rows(outputs, batch), 0
    everyone = outputs[ALL_REPLICAS]
    return _rows(*(everyone[name] for name in COUPLED)), everyone["first_row"]


def _rows(embeddings, targets, weights):
    return Rows(unit(embeddings), weights * ops.cast(ops.isnan(targets), "float32"))


def forward_logits(own: Rows, everyone: Rows, scale: float):
    """scale x cosine of each query with all positives, then all negatives: float32 (rows, candidates)."""
    candidates, weights = everyone.texts[:, 1], everyone.weights
    texts = ops.shape(everyone.texts)[1]
    negatives = ops.reshape(everyone.texts[:, 2:], (-1, everyone.texts.shape[-1]))
    candidates = ops.concatenate([candidates, negatives], axis=0)
    weights = ops.concatenate([weights, ops.repeat(weights, texts - 2)], axis=0)
    return _logits(own.texts[:, 0], candidates, weights, scale)


def backward_logits(own: Rows, everyone: Rows, scale: float):
    """scale x cosine of each positive with all queries: float32 (rows, all rows)."""
    return _logits(own.texts[:, 1], everyone.texts[:, 0], everyone.weights, scale)


def _logits(queries, candidates, weights, scale):
    logits = scale * ops.matmul(queries, ops.transpose(candidates))
    return ops.where(weights > 0, logits, _NO_CANDIDATE)


def ranking_sums(outputs, batch, settings: RankingSettings) -> dict:
    """Sums over the replica's own rows, with candidates from all replicas.

    Args:
      outputs, batch: as for `Task.loss_sums`.
      settings: those of the task.

    Returns:
      {"loss", "batch_accuracy", "weight"}: float32 scalars; the accuracy is that of the forward direction.
    """
    own = own_rows(outputs, batch)
    everyone, first = all_rows(outputs, batch)
    labels = first + ops.arange(ops.shape(own.weights)[0], dtype="int32")
    logits = forward_logits(own, everyone, settings.scale)
    losses = cross_entropies(logits, labels)
    if settings.symmetric:
        backward = backward_logits(own, everyone, settings.scale)
        losses = (losses + cross_entropies(backward, labels)) / 2
    return {
        "loss": ops.sum(losses * own.weights),
        "batch_accuracy": ops.sum(correct(logits, labels) * own.weights),
        "weight": ops.sum(own.weights),
    }
