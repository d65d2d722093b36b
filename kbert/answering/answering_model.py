"""A trained model for answering."""

import keras

from kbert.answering.answering_encoder import AnsweringEncoder
from kbert.encoder import BertEncoder
from kbert.tasks.task_model import TaskModel


def answering_model(
    model: TaskModel | BertEncoder, precision: str = "float32"
) -> keras.Model | AnsweringEncoder:
    """The model that answers as `model` does, but faster; see `AnsweringEncoder` for what is different.

    Args:
      model: a `TaskModel` in float32, or a `BertEncoder`.
      precision: "float32" or "bfloat16", of the encoder.

    Returns:
      A functional model from the same inputs to the same outputs. It has the layers of `model`, but for the
      encoder, so it follows every change of them; `encoder` is the one that answers. Of a `BertEncoder`
      an `AnsweringEncoder` with `sequence_output` alone, which vectors of texts are made of.
    """
    if isinstance(model, BertEncoder):
        return AnsweringEncoder(model, precision, ("sequence_output",))
    encoder = AnsweringEncoder(model.encoder, precision, tuple(model.encoder.output))

    def replace_encoder(layer):
        return encoder if layer is model.encoder else layer

    answering = keras.models.clone_model(model, clone_function=replace_encoder)
    answering.encoder = encoder
    return answering
