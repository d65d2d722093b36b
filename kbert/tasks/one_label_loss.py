"""The loss of tasks in which one label of several is right for each example."""

from keras import ops

from kbert.features import LABEL_FEATURE
from kbert.tasks.task import SoftTarget, cross_entropies, example_weights


class OneLabelLoss:
    """Cross-entropy of a softmax, the mean over the examples; a base class beside `Task`, before it.

    Attributes:
      loss_name: the loss in `loss_sums`.
      logits_name: the output that holds the logits, float32 of shape (batch, labels).
    """

    loss_name = "loss"
    logits_name = "logits"

    @staticmethod
    def right_labels(batch):
        """The ids of the right labels, int32 of shape (batch,)."""
        return batch[LABEL_FEATURE]

    def loss_weights(self, batch):
        return {self.loss_name: ops.sum(example_weights(batch))}

    def loss_sums(self, outputs, batch):
        losses = cross_entropies(outputs[self.logits_name], self.right_labels(batch))
        return {self.loss_name: ops.sum(losses * example_weights(batch))}

    def soft_targets(self, outputs, batch):
        return {self.loss_name: (SoftTarget(outputs[self.logits_name], example_weights(batch)),)}
