"""The contract between a kind of task and everything that trains, evaluates and serves it."""

from collections.abc import Iterator

import keras
import numpy as np
from keras import ops

from kbert.features import EXAMPLE_WEIGHTS, Feature
from kbert.kernels.cross_entropy import cross_entropy


class Task:
    """What a kind of task knows: its model, its losses and metrics, and how to read its outputs.

    The trainer, the evaluation and the exporters speak to a task through these methods alone. Sums and
    weights are kept apart so that any number of replicas and batches adds up to the same mean: every
    training loss is `loss_sums[name] / loss_weights[name]` over the global batch, and every metric the
    quotient of two sums over all batches.

    Example, the whole of a regression task but for its model:
      >>> import numpy as np
      >>> from keras import ops
      >>> from kbert import Task
      >>> from kbert.tasks.task import example_weights
      >>> class SequenceRegression(Task):
      ...     name = "sequence_regression"
      ...     def build_model(self, encoder): ...  # -> keras.Model with an output "prediction"
      ...     def loss_weights(self, batch):
      ...         return {"loss": ops.sum(example_weights(batch))}
      ...     def loss_sums(self, outputs, batch):
      ...         error = ops.square(outputs["prediction"] - batch["targets"])
      ...         return {"loss": ops.sum(example_weights(batch) * error)}
      ...     def metric_sums(self, outputs, batch):
      ...         return {}
      >>> batch = {"input_ids": np.zeros((2, 7), "int32"), "targets": np.array([1.0, 2.0], "float32")}
      >>> outputs = {"prediction": np.array([1.5, 2.0], "float32")}
      >>> task = SequenceRegression()
      >>> float(task.loss_sums(outputs, batch)["loss"] / task.loss_weights(batch)["loss"])
      0.125

    A task that is trained on labelled files also has the methods at the end: they turn rows of a file
    into the features that live training, records and evaluation share.
    """

    name: str
    best_metric: str = "loss"  # what tells the best of several checkpoints, unless a config names another

    def build_model(self, encoder) -> keras.Model:
        """A Keras model from a dict of features to a dict of outputs, on top of `encoder`."""
        raise NotImplementedError

    def loss_weights(self, batch) -> dict:
        """name -> scalar, the weight that a loss of this batch is divided by (before any model runs)."""
        raise NotImplementedError

    def loss_sums(self, outputs, batch) -> dict:
        """name -> scalar, the weighted sum of a loss; the same names as `loss_weights`."""
        raise NotImplementedError

    def metric_sums(self, outputs, batch) -> dict:
        """name -> (sum, weight); a weight of 0 asks for the sum itself, which may be an array of counts."""
        raise NotImplementedError

    def get_config(self) -> dict:
        """The constructor's arguments, JSON-ready: with them a saved model builds its task again."""
        return {}

    def summarize(self, means: dict) -> dict:
        """Turns means of losses and metrics into what is reported; by default just that."""
        return means

    def higher_is_better(self, metric: str) -> bool:
        """Whether more of a metric is better: of everything but losses."""
        return not metric.endswith("loss")

    @staticmethod
    def stream_rows(path, dataset) -> Iterator:
        """The labelled rows of a file as picklable values, one at a time; `dataset` is a `DatasetConfig`."""
        raise NotImplementedError

    @classmethod
    def complete_dataset(cls, dataset, rows):
        """The `DatasetConfig` with what only the rows know (labels), where it does not say so itself."""
        raise NotImplementedError

    @classmethod
    def of_dataset(cls, dataset) -> "Task":
        """The task of a complete `DatasetConfig`."""
        raise NotImplementedError

    def record_features(self, max_seq_length: int) -> dict[str, Feature]:
        """name -> `Feature` of an example, answers included."""
        raise NotImplementedError

    def rows_to_features(self, rows, text_inputs) -> dict[str, np.ndarray]:
        """Rows -> arrays of shape [rows, *shape of the feature]; `text_inputs` tokenizes and packs."""
        raise NotImplementedError


def example_weights(batch):
    """float32 tensor of shape (batch,): 1 for real examples, 0 for those that fill the last batch."""
    if EXAMPLE_WEIGHTS in batch:
        return batch[EXAMPLE_WEIGHTS]
    return ops.ones(ops.shape(batch["input_ids"])[:1], dtype="float32")


def cross_entropies(logits, labels):
    """Per-element cross-entropy in float32; logits (..., classes), int labels (...)."""
    flat = ops.reshape(ops.cast(logits, "float32"), (-1, logits.shape[-1]))
    losses = cross_entropy(flat, ops.reshape(ops.cast(labels, "int32"), (-1,)))
    return ops.reshape(losses, ops.shape(labels))


def hits(logits, labels):
    """1.0 where no logit is larger than the label's, else 0.0."""
    chosen = ops.take_along_axis(logits, ops.expand_dims(ops.cast(labels, "int32"), -1), axis=-1)
    # Not argmax, which is a slow sum of pairs on a CPU.
    return ops.cast(chosen[..., 0] >= ops.max(logits, axis=-1), "float32")
