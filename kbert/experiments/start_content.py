"""What a checkpoint holds, as a short digest: the same path may hold another model tomorrow."""

import functools
import hashlib
import json
from pathlib import Path

# In a folder of these formats the first kind of weights that is there is read, as when loading.
_WEIGHT_FILES = (
    "model*.safetensors",
    "pytorch_model*.bin",
    "tf_model*.h5",
    "*.weights.h5",
    "variables/variables.data-*",
)
_MODULES = "[0-9]_*"  # folders of a sentence-transformers model


def content_digest(path) -> str | None:
    """A digest of the weights that a training would start from; another one when they were trained on.

    A run of kbert costs nothing: its state.json names the step and the checksum of the weights. The files of
    other formats are read once by a process.

    Args:
      path: a checkpoint, as `kbert.checkpoints.formats.read_checkpoint` takes it; None for no checkpoint.

    Returns:
      16 hexadecimal digits; None where nothing can be compared: there is no such file or it is broken, or it
      is a name such as hf://org/name@revision, which is not asked for.
    """
    from kbert.checkpoints.formats import detect_format  # brings NumPy along

    if path is None:
        return None
    try:
        facts = _facts(Path(path), detect_format(path))
    except (ValueError, OSError):  # whoever reads the checkpoint says what is wrong with it
        return None
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16] if facts else None


def _facts(path, checkpoint_format):
    from kbert.checkpoints import GOOGLE, KBERT, MODEL_GARDEN, google_tf1
    from kbert.runs.checkpoint import WEIGHTS_FILE, read_state
    from kbert.runs.run_directory import RunDirectory

    if checkpoint_format == KBERT:
        checkpoint = RunDirectory(path).checkpoint()
        state = read_state(checkpoint)
        # Runs from before there were checksums are read.
        weights = state.get("files", {}).get(WEIGHTS_FILE) or _of_files([checkpoint / WEIGHTS_FILE])
        return [state["step"], weights]
    is_tensorflow = checkpoint_format in (GOOGLE, MODEL_GARDEN)
    if is_tensorflow and (prefix := google_tf1.checkpoint_prefix(path)):  # a SavedModel has none
        return _of_files(sorted(prefix.parent.glob(f"{prefix.name}.*-of-*")))
    return _of_files(file for folder in (path, *sorted(path.glob(_MODULES))) for file in _weights_in(folder))


def _weights_in(folder):
    return next(filter(None, (sorted(folder.glob(pattern)) for pattern in _WEIGHT_FILES)), [])


def _of_files(files):
    found = [(file, file.stat()) for file in files]
    return [
        [file.name, stat.st_size, _digest_of(file, stat.st_size, stat.st_mtime_ns)] for file, stat in found
    ]


@functools.cache
def _digest_of(file, size, changed_at):
    """Once for all seeds of a command; size and time tell a file that was written since."""
    del size, changed_at
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
