"""A run with intact files, but with NaN among its weights."""

import shutil

import numpy as np

from kbert.runs.checkpoint import parse_step, save_checkpoint
from kbert.runs.run_directory import RunDirectory, trained_weights


def copy_with_nan(run: RunDirectory, folder, token: str) -> RunDirectory:
    """A copy of a run with a checkpoint in which the vector of one token is NaN."""
    shutil.copytree(run.path, folder)
    copy = RunDirectory(folder)
    _, _, model = copy.load_checkpoint()
    table = model.encoder.embeddings.trainable_variables[0]
    numbers = table.numpy()
    numbers[copy.vocabulary().ids[token]] = np.nan
    table.assign(numbers)
    save_checkpoint(copy.checkpoints, parse_step(copy.checkpoint()), trained_weights(model), {}, {}, keep=3)
    return copy
