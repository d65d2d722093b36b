"""A loaded model -> a `BertCheckpoint` with the weights that it has now, for every format."""

import dataclasses

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.formats import read_checkpoint
from kbert.runs.checkpoint import parse_step
from kbert.runs.chosen_settings import read_chosen


def model_as_checkpoint(loaded) -> BertCheckpoint:
    """The model as data. A variable that was never trained stays out, as it is in what was loaded.

    Args:
      loaded: the `LoadedModel`.

    Raises:
      ValueError: when its run is gone.
    """
    if loaded.run is None:
        description = loaded.known_description
    else:
        description = read_checkpoint(loaded.run.path)
        chosen = read_chosen(loaded.run.path, parse_step(loaded.checkpoint))
        recorded = description.recorded and dataclasses.replace(description.recorded, chosen=chosen)
        description = dataclasses.replace(description, recorded=recorded)
    # Frozen ones too: Keras takes a layer that is not `trainable` out of `trainable_variables`.
    weights = {variable.path: variable.numpy() for variable in loaded.model.weights}
    description = dataclasses.replace(description, max_seq_length=loaded.max_seq_length)
    return description.with_weights(weights)
