"""What a task makes and is given: rows of features, predictions, logits that a student learns from."""

from typing import Any, NamedTuple

import numpy as np

NUM_TOKENS = "num_tokens"  # see `Task.collect_for_page`

ALL_REPLICAS = "all_replicas"  # in the outputs of a step: rows of all replicas, see `Task.coupled`


class ExampleFeatures(NamedTuple):
    """Examples as rows of features.

    Args:
      features: name -> array of shape (rows, *shape of the feature).
      owners: int array of shape (rows,): the index of the example that each row belongs to. An example may
        become several rows, for example the windows of a long text; they are consecutive rows.
    """

    features: dict[str, np.ndarray]
    owners: np.ndarray


class Predictions(NamedTuple):
    """The predictions of a model for all rows of an evaluation, in the order of the rows.

    Args:
      values: name -> array of shape (rows, ...): the outputs and features that `Task.collected` names.
      owners: as in `ExampleFeatures`.
    """

    values: dict[str, np.ndarray]
    owners: np.ndarray


class SoftTarget(NamedTuple):
    """The logits that a loss is computed from: what a student may learn from a teacher instead of labels.

    Args:
      logits: float32 tensor of shape (..., classes), or (...) for numbers.
      weights: float32 tensor that broadcasts to (...), or for independent logits to (..., classes): the
        weights that the loss itself gives. Their sum is the loss's `loss_weights` times `share`.
      kind: "softmax", one class of several; "sigmoid", each class for itself; "number", no probability.
      share: the factor of this target in its loss, 1/2 where a loss is the mean of two.
    """

    logits: Any
    weights: Any
    kind: str = "softmax"
    share: float = 1.0
