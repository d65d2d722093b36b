"""Checkpoints: one folder a step, tensors by name in safetensors files, whole or absent."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

WEIGHTS_FILE = "model.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
STATE_FILE = "state.json"
_FOLDER = re.compile(r"step-(\d{8,})")


def save_checkpoint(directory, step: int, weights: dict, slots: dict, state: dict, keep: int) -> Path:
    """Writes `directory/step-NNNNNNNN/` aside, renames it into place, and deletes all but the newest `keep`.

    Args:
      directory: the folder of checkpoints.
      step: optimizer steps taken.
      weights: name -> variable of the model.
      slots: name -> variable of the optimizer.
      state: JSON-ready values; `step` is added.
      keep: how many checkpoints stay.
    """
    target = Path(directory) / f"step-{step:08d}"
    aside = target.with_name(target.name + ".tmp")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    save_file(_to_numpy(weights), aside / WEIGHTS_FILE)
    save_file(_to_numpy(slots), aside / OPTIMIZER_FILE)
    (aside / STATE_FILE).write_text(json.dumps({"step": step} | state, indent=2) + "\n")
    if target.exists():  # the same step again, after a resume from an older checkpoint
        shutil.rmtree(target)
    aside.rename(target)
    for old in list_checkpoints(directory)[:-keep]:
        shutil.rmtree(old)
    return target


def list_checkpoints(directory) -> list[Path]:
    """The finished checkpoints in `directory`, oldest first."""
    directory = Path(directory)
    if not directory.is_dir():
        return []
    folders = [path for path in directory.iterdir() if _FOLDER.fullmatch(path.name) and path.is_dir()]
    return sorted(folders, key=lambda path: int(_FOLDER.fullmatch(path.name)[1]))


def read_state(checkpoint) -> dict:
    """The state.json of a checkpoint: at least `step`."""
    return json.loads((Path(checkpoint) / STATE_FILE).read_text())


def restore(path, variables: dict, allow_unused: bool = False):
    """Assigns every variable its tensor of the same name; all names and shapes are checked first.

    Args:
      path: a safetensors file.
      variables: name -> variable (Keras or TensorFlow).
      allow_unused: accept tensors in the file that no variable asks for.

    Raises:
      ValueError: for a missing or broken file, a missing tensor, a tensor of another shape, or (unless
        allowed) a tensor that nothing takes. Nothing is assigned then.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"checkpoint file {path} does not exist.")
    try:
        with safe_open(path, framework="numpy") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
            _check(path, shapes, variables, allow_unused)
            for name, variable in variables.items():
                variable.assign(file.get_tensor(name))
    except SafetensorError as error:
        raise ValueError(f"{path} is not a whole safetensors file: {error}.") from None


def _check(path, shapes, variables, allow_unused):
    missing = [name for name in variables if name not in shapes]
    if missing:
        raise ValueError(
            f"{path} lacks {len(missing)} of {len(variables)} tensors, for example {missing[0]!r}: it "
            "belongs to another model."
        )
    for name, variable in variables.items():
        if shapes[name] != tuple(variable.shape):
            raise ValueError(
                f"{path}: {name} has shape {shapes[name]}, but this model's is {tuple(variable.shape)}; use "
                "the encoder config that the checkpoint was made with."
            )
    unused = [name for name in shapes if name not in variables]
    if unused and not allow_unused:
        raise ValueError(f"{path} holds tensors that this model has no place for, for example {unused[0]!r}.")


def _to_numpy(variables):
    return {name: np.ascontiguousarray(variable.numpy()) for name, variable in variables.items()}
