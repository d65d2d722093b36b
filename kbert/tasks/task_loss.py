"""The loss of a task over many batches, as Keras's `fit` and `evaluate` report it."""

import keras


class TaskLoss(keras.metrics.Metric):
    """Each loss of a task is its sum over all batches, divided by their weight, as in `kbert.evaluate`.

    Keras's own tracker weighs the mean of a batch by its rows: with weights it depends on the batch size.

    Args:
      factors: name -> factor of the loss in the sum of losses.

    Attributes:
      factors: as given.
      batch: name -> (mean, weight) of the losses of the batch that `update_state` counts.
    """

    def __init__(self, factors: dict[str, float]):
        super().__init__(name="loss")
        self.factors, self.batch = factors, {}
        self._means = [keras.metrics.Mean(name) for name in factors]
        self._rest = keras.metrics.Mean("rest")

    def update_state(self, loss, sample_weight):
        """Counts `batch`; by its rows what is in the loss beside: regularizers, `add_loss`, a subclass's own.

        Args:
          loss: that of the batch.
          sample_weight: how many rows it has.
        """
        means, self.batch = self.batch, {}
        for (name, factor), mean in zip(self.factors.items(), self._means, strict=True):
            if name in means:
                mean.update_state(*means[name])
                loss -= factor * means[name][0]
        self._rest.update_state(loss, sample_weight)

    def result(self):
        losses = zip(self.factors.values(), self._means, strict=True)
        return sum((factor * mean.result() for factor, mean in losses), self._rest.result())
