"""What a task says of its model: the head on the encoder, and the losses that a training minimises."""

import keras

from kbert.tasks.contract.rows import SoftTarget


class ModelOfTask:
    """The methods of a `Task` about its model and its losses."""

    def build_model(self, encoder) -> keras.Model:
        """A Keras model from a dict of features to a dict of outputs, on top of `encoder`."""
        raise NotImplementedError

    def loss_weights(self, batch) -> dict:
        """name -> scalar: the weight that a loss sum of this batch is divided by. Needs no model outputs."""
        raise NotImplementedError

    def loss_sums(self, outputs, batch) -> dict:
        """name -> scalar: the weighted sum of a loss. The names are those of `loss_weights`."""
        raise NotImplementedError

    def training_loss_weights(self, batch) -> dict:
        """As `loss_weights`, of the losses that training minimises: those of evaluation, by default."""
        return self.loss_weights(batch)

    def training_loss_sums(self, outputs, batch) -> dict:
        """As `loss_sums`, for training: there a loss may weigh labels, or smooth them."""
        return self.loss_sums(outputs, batch)

    def loss_factor(self, name: str) -> float:
        """The factor of a loss in the sum of losses that training minimises; what is logged is without it."""
        return 1.0

    def soft_targets(self, outputs, batch) -> dict[str, tuple[SoftTarget, ...]]:
        """loss name -> the logits behind it, so that a teacher can take the place of the labels."""
        return {}

    def is_training_only(self, name: str) -> bool:
        """Whether a trained variable is needed by the training alone: it is no part of the model's weights,
        and a checkpoint keeps it beside the optimizer's."""
        return False
