"""What of a loaded model is no longer as the checkpoint of its run has it."""

import numpy as np


def changes_since_checkpoint(loaded) -> list[str]:
    """The paths of weights, and "max_seq_length". None also where nobody can tell: of a checkpoint of others,
    or one that has been deleted by a run which still trains.

    Args:
      loaded: the `LoadedModel`.

    Raises:
      ValueError: when the checkpoint is damaged by now.
    """
    run = loaded.run
    if run is None:
        return []
    length = run.details.get("max_seq_length", loaded.max_seq_length)
    changed = ["max_seq_length"] if length != loaded.max_seq_length else []
    if not loaded.checkpoint.is_dir():
        return changed
    weights = {variable.path: variable for variable in loaded.model.weights}
    stored = run.stored_weights(loaded.checkpoint)
    return changed + [
        name
        for name, tensor in stored.items()
        if name in weights and not np.array_equal(tensor.read(), weights[name])
    ]
