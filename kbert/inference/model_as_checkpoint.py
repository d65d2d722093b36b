"""A loaded model -> a `BertCheckpoint` with the weights that it has now, for every format."""

import dataclasses

from absl import logging

from kbert.checkpoints import KBERT
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.kbert_run import describe_run, with_trained
from kbert.checkpoints.report import Report
from kbert.files.stored_tensor import stored_variable
from kbert.inference.changes import changes_since_checkpoint


def model_as_checkpoint(loaded) -> BertCheckpoint:
    """The model as data. A variable that was never trained stays out, as it is in what was loaded.

    What was chosen for a run's checkpoint stays, so that what is written answers as the model; with a warning
    where that is another model by now.

    Args:
      loaded: the `LoadedModel`.

    Raises:
      ValueError: when its run is gone, or a weight is none of the task's model, as of an adapter of Keras.
    """
    # Frozen ones too: Keras takes a layer that is not `trainable` out of `trainable_variables`.
    weights, run = loaded.model.weights, loaded.run
    if run is None:
        description = loaded.known_description
        _require_known(weights, description)
    else:
        description = describe_run(run, loaded.checkpoint, Report(KBERT, str(run.path)))
        _require_known(weights, description)
        stored = {variable.path: stored_variable(variable) for variable in weights}
        description = with_trained(description, run, stored, loaded.source)
        _warn_of_another_choice(loaded, description.known_task.chosen)
    description = dataclasses.replace(description, max_seq_length=loaded.max_seq_length)
    return description.with_weights({variable.path: variable.numpy() for variable in weights})


def _require_known(weights, description):
    """Raises ValueError for weights that a file could not have, or not as the layers compute with them."""
    known = description.shapes
    for variable in weights:
        if variable.path not in known or variable.dtype != "float32":
            raise ValueError(
                f"{description.source}: {variable.path} ({variable.dtype}) is no weight of kbert's "
                f"{description.task} model: Keras's `enable_lora` and `quantize` change what layers compute "
                'with. loaded.model.save("model.keras") adds adapters to their weights; quantized layers '
                "are made anew of the model that was saved before."
            )


def _warn_of_another_choice(loaded, chosen):
    if chosen and (changed := changes_since_checkpoint(loaded)):
        logging.warning(
            "What was chosen for %s (%s) is saved with this model, which has another %s: save it as a run, "
            "and evaluate that one with keep_chosen to choose anew.",
            loaded.checkpoint, ", ".join(chosen.settings), changed[0],
        )  # fmt: skip
