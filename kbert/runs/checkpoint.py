"""Checkpoints: one folder per step with tensors in safetensors files. A checkpoint is complete or absent.

checkpoints/step-NNNNNNNN/
  model.safetensors       the weights
  optimizer.safetensors   the optimizer's variables
  state.json              the step, all else that training needs to continue, and each file's size and CRC-32
"""

import errno
import json
import os
import re
import shutil
import zlib
from pathlib import Path

import numpy as np
from absl import logging

from kbert.files.file_format import require_downloaded
from kbert.files.full_disk import naming_full_disk
from kbert.files.json_file import read_json_object, require_known_format
from kbert.files.safetensors_file import read_safetensors, write_safetensors
from kbert.files.stored_tensor import StoredTensor, stored_variable
from kbert.files.whole_file import move_folder

WEIGHTS_FILE = "model.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
STATE_FILE = "state.json"
FORMAT_VERSION = 1  # of state.json
_FOLDER = re.compile(r"step-\d{8,}")
_UNFINISHED, _DAMAGED = ".tmp", ".damaged"  # endings that no finished checkpoint has
_BYTES_AT_ONCE = 1 << 22


class DamagedCheckpoint(ValueError):
    """A checkpoint whose files are missing, unreadable, or not what was written."""


def save_checkpoint(
    directory, step: int, weights: dict, slots: dict, state: dict, keep: int, spared=()
) -> Path:
    """Writes `directory/step-NNNNNNNN/` under a temporary name, syncs and renames it, and deletes older ones.

    Args:
      directory: the folder of checkpoints.
      step: optimizer steps taken.
      weights: name -> variable of the model, or `StoredTensor`.
      slots: the same for the optimizer's variables.
      state: JSON-ready values; `format_version`, `step` and `files` are added.
      keep: how many of the newest checkpoints stay.
      spared: steps whose checkpoints stay in addition.

    Raises:
      OSError: when it cannot be written. Nothing of it remains then, and older checkpoints are unchanged.
    """
    directory = Path(directory)
    for leftover in directory.glob(f"step-*{_UNFINISHED}"):
        shutil.rmtree(leftover, ignore_errors=True)
    target = step_folder(directory, step)
    aside = target.with_name(target.name + _UNFINISHED)
    try:
        with naming_full_disk(target, aside):
            files = _write_folder(aside, step, weights, slots, state)
        if target.exists() and _holds(target, files):  # then there is no moment without its folder
            (aside / STATE_FILE).replace(target / STATE_FILE)
            _bring_to_disk(target)
            shutil.rmtree(aside)
        else:
            if target.exists():
                move_folder(target, target.with_name(f"{target.name}.replaced{_UNFINISHED}"))
            aside.rename(target)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    _bring_to_disk(directory)
    delete_old(directory, step, keep, spared)
    return target


def _write_folder(folder, step, weights, slots, state) -> dict:
    """The `files` of its state."""
    folder.mkdir(parents=True)
    files = {}
    for name, tensors in ((WEIGHTS_FILE, weights), (OPTIMIZER_FILE, slots)):
        stored = {
            tensor: value if isinstance(value, StoredTensor) else stored_variable(value)
            for tensor, value in tensors.items()
        }
        crc = write_safetensors(folder / name, stored, {})
        files[name] = {"bytes": (folder / name).stat().st_size, "crc32": f"{crc:08x}"}
        _bring_to_disk(folder / name)
    state = {"format_version": FORMAT_VERSION, "step": step} | state | {"files": files}
    content = json.dumps(state | {"crc32": _state_crc(state)}, indent=2)
    (folder / STATE_FILE).write_text(content + "\n", encoding="utf-8")
    _bring_to_disk(folder / STATE_FILE)
    _bring_to_disk(folder)
    return files


def _holds(checkpoint, files) -> bool:
    """Whether a checkpoint has these tensors, undamaged."""
    try:
        verify(checkpoint)
    except DamagedCheckpoint:
        return False
    return read_state(checkpoint)["files"] == files


def step_folder(directory, step: int) -> Path:
    """The folder of a step's checkpoint."""
    return Path(directory) / f"step-{step:08d}"


def parse_step(checkpoint) -> int:
    """The step in the name of a checkpoint's folder. Raises ValueError for another name."""
    return int(Path(checkpoint).name.removeprefix("step-"))


def list_checkpoints(directory) -> list[Path]:
    """The finished checkpoints in `directory`, oldest first."""
    directory = Path(directory)
    if not directory.is_dir():
        return []
    folders = [path for path in directory.iterdir() if _FOLDER.fullmatch(path.name) and path.is_dir()]
    return sorted(folders, key=parse_step)


def newest_whole_checkpoint(directory, set_aside: bool = True) -> Path | None:
    """The newest checkpoint that can be read; None when there is none at all.

    Args:
      directory: the folder of checkpoints.
      set_aside: rename newer, damaged checkpoints to `step-NNNNNNNN.damaged`, so that they do not count among
        those to keep. If several workers share a folder, only one of them should do this.

    Raises:
      ValueError: when there are checkpoints, but none of them can be read.
    """
    damaged = []
    for path in reversed(list_checkpoints(directory)):
        try:
            verify(path)
        except DamagedCheckpoint as error:
            damaged.append((path, error))
            continue
        for bad, error in damaged:
            logging.warning("DAMAGED CHECKPOINT: %s Going back to %s instead.", error, path.name)
            if set_aside:
                _set_aside(bad)
        return path
    if damaged:
        raise ValueError(
            f"{directory} holds {len(damaged)} checkpoint(s), none of which can be read: "
            f"{' '.join(str(error) for _, error in damaged)} Restore one from a copy, or begin again in a "
            "new run_dir."
        )
    return None


def verify(checkpoint, names=(WEIGHTS_FILE, OPTIMIZER_FILE)):
    """Reads files of a checkpoint once and compares their sizes and CRC-32 with those in state.json.

    Raises:
      DamagedCheckpoint: when they differ or a file cannot be read; the message says what is wrong.
      ValueError: for a pointer of Git LFS, see `require_downloaded`.
    """
    checkpoint = Path(checkpoint)
    files = read_state(checkpoint)["files"]
    for name in names:
        path, expected = checkpoint / name, files[name]
        try:
            require_downloaded(path)
            size = path.stat().st_size
            if size != expected["bytes"]:
                raise DamagedCheckpoint(f"{path} has {size} bytes, but {expected['bytes']} were written.")
            crc = _crc32(path)
        except OSError as error:
            raise DamagedCheckpoint(f"{path} cannot be read ({error.strerror}).") from None
        if f"{crc:08x}" != expected["crc32"]:
            raise DamagedCheckpoint(
                f"{path} is not what was written (CRC-32 {crc:08x}, expected {expected['crc32']})."
            )


def read_state(checkpoint) -> dict:
    """The state.json of a checkpoint: at least `step`.

    Raises:
      DamagedCheckpoint: when it is missing or damaged.
      ValueError: when a newer kbert wrote it.
    """
    path = Path(checkpoint) / STATE_FILE
    try:
        state = read_json_object(path)
        step = state["step"]
        expected = state.pop("crc32", None)
    except (ValueError, KeyError):
        what = "is not whole" if path.exists() else "does not exist"
        raise DamagedCheckpoint(f"{path} {what}.") from None
    if step != parse_step(checkpoint) or expected != _state_crc(state):
        raise DamagedCheckpoint(f"{path} is not what was written.")
    require_known_format(state, FORMAT_VERSION, path)
    return state


def restore(path, variables: dict):
    """Assigns to every variable the tensor of its name; all names and shapes are checked first.

    Args:
      path: a safetensors file.
      variables: name -> variable (Keras or TensorFlow).

    Raises:
      ValueError: for a broken file, and as `assign` does.
    """
    assign(read_safetensors(path), variables, path)


def assign(tensors: dict[str, StoredTensor], variables: dict, path):
    """The same with the tensors of a file.

    Raises:
      ValueError: as `require_tensors` does; nothing is assigned then. Also for a tensor with NaN or infinity;
        the tensors before it are assigned by then.
    """
    require_tensors(path, tensors, {name: tuple(v.shape) for name, v in variables.items()})
    for name, variable in variables.items():
        variable.assign(_finite(tensors[name].read(), f"{path}: {name}"))


def _finite(array, where):
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(
            f"{where} holds numbers that are not finite (NaN or infinite): take another checkpoint."
        )
    return array


def require_tensors(path, tensors: dict[str, StoredTensor], shapes: dict):
    """Refuses a file of weights that is not a model's.

    Args:
      path: the file.
      tensors: what it holds.
      shapes: name -> shape of the model's variables.

    Raises:
      ValueError: for a missing tensor, one of another shape, or one that is no variable's.
    """
    missing = [name for name in shapes if name not in tensors]
    if missing:
        raise ValueError(
            f"{path} has no tensor for {len(missing)} of {len(shapes)} variables, for example "
            f"{missing[0]!r}: it belongs to another model."
        )
    for name, shape in shapes.items():
        if tensors[name].shape != shape:
            raise ValueError(
                f"{path}: {name} has shape {tensors[name].shape}, but this model's is {shape}; use "
                "the encoder config that the checkpoint was made with."
            )
    unused = [name for name in tensors if name not in shapes]
    if unused:
        raise ValueError(f"{path} holds tensors that this model does not have, for example {unused[0]!r}.")


def _state_crc(state):
    return f"{zlib.crc32(json.dumps(state, sort_keys=True).encode()):08x}"


def _crc32(path):
    crc, buffer = 0, memoryview(bytearray(_BYTES_AT_ONCE))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            crc = zlib.crc32(buffer[:count], crc)
    return crc


def _bring_to_disk(path):
    """fsync: afterwards a power failure cannot lose the file, or a folder's list of names."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems do not sync folders
            raise
    finally:
        os.close(descriptor)


def delete_old(directory, newest_step: int, keep: int, spared):
    """Deletes all checkpoints but the newest `keep` and those of the steps `spared`, and what is left over of
    others; only logs a warning if that fails. One of a later step, which is damaged, counts for nothing."""
    whole = [path for path in list_checkpoints(directory) if parse_step(path) <= newest_step]
    old = [path for path in whole[:-keep] if parse_step(path) not in spared]
    # A damaged checkpoint is not needed any more when there is a newer complete one.
    damaged = [
        path
        for path in directory.glob(f"step-*{_DAMAGED}")
        if _FOLDER.fullmatch(path.stem) and parse_step(path.stem) <= newest_step
    ]
    replaced = list(directory.glob(f"step-*.replaced{_UNFINISHED}"))
    try:
        for path in old:  # so that no half-deleted checkpoint has a finished one's name
            move_folder(path, path.with_name(path.name + _UNFINISHED))
        for path in [*(path.with_name(path.name + _UNFINISHED) for path in old), *damaged, *replaced]:
            shutil.rmtree(path)
    except OSError as error:
        logging.warning("an old checkpoint could not be deleted: %s", error)


def _set_aside(path):
    target = path.with_name(path.name + _DAMAGED)
    try:
        shutil.rmtree(target, ignore_errors=True)
        move_folder(path, target)
    except OSError as error:
        logging.warning("%s could not be set aside: %s", path, error)
