"""KerasHub's models and their weight files (HDF5): imported late, because keras_hub takes seconds.

The weights go through KerasHub's own loader and saver. Its `from_preset` is not used for reading: where a
task's weights are missing it silently gives random ones, and it builds any class that a file names.
"""

import contextlib
import errno
import math
from pathlib import Path

from kbert.checkpoints.report import one_line
from kbert.files.hdf5_file import read_hdf5

# What h5py and Keras's loader raise for a damaged file.
_HDF5_ERRORS = (OSError, ValueError, KeyError, RuntimeError, TypeError, IndexError, AttributeError)
_MIB = 1 << 20
_HDF5_OVERHEAD = 8192  # bytes for an array and its groups, at most
_BACKBONE_WEIGHTS, _TASK_WEIGHTS = "model.weights.h5", "task.weights.h5"


def build(class_name: str, backbone_arguments: dict, num_labels: int, **task_arguments):
    """A fresh model in float32, whatever Keras's default type is."""
    from keras_hub import models  # late: it takes seconds

    backbone = models.BertBackbone(**backbone_arguments, dtype="float32")
    if class_name == "BertBackbone":
        return backbone
    if class_name == "BertTextClassifier":
        num_outputs = num_labels or 1  # a regression has no labels
        task_arguments |= {"num_classes": num_outputs, "dropout": backbone_arguments["dropout"]}
    return getattr(models, class_name)(backbone, **task_arguments)


def load_variables(folder: Path, class_name, backbone_arguments, num_labels, encoder_shapes, head_shapes):
    """A preset's variables by path; those of a head only if it was saved.

    Args:
      folder: the preset.
      class_name, backbone_arguments, num_labels: the model, see `build`.
      encoder_shapes, head_shapes: of its variables. The files are compared with them before it is built.

    Raises:
      ValueError: for a file that is missing, damaged, hostile or of another model.
    """
    file, head_file = folder / _BACKBONE_WEIGHTS, folder / _TASK_WEIGHTS
    has_head = bool(head_shapes) and head_file.is_file()
    require_shapes(file, encoder_shapes)
    if has_head:
        require_shapes(head_file, head_shapes)
    model = build(class_name, backbone_arguments, num_labels, **({"compile": False} if head_shapes else {}))
    backbone = model.backbone if head_shapes else model
    with _in_one_sentence(file):
        backbone.load_weights(str(file))
    if not has_head:
        return {variable.path: variable for variable in backbone.weights}
    with _in_one_sentence(head_file):
        model.load_task_weights(str(head_file))
    return {variable.path: variable for variable in model.weights}


@contextlib.contextmanager
def _in_one_sentence(file):
    try:
        yield
    except _HDF5_ERRORS as error:
        raise ValueError(
            f"{file} is missing, broken or not of the model that {file.parent} describes "
            f"({one_line(error)}); use the files of one preset."
        ) from None


def require_shapes(file: Path, shapes):
    """Compares the sizes of a weight file's arrays with those of a model's variables.

    Raises:
      ValueError: where they differ, and for a file that is missing, damaged or reaches elsewhere.
    """
    if not file.is_file():
        raise ValueError(f"{file} is missing; use the files of one preset.")
    sizes, expected = sorted(map(math.prod, _shapes(file))), sorted(map(math.prod, shapes))
    with _in_one_sentence(file):
        if sizes != expected:
            raise ValueError(
                f"{len(sizes)} arrays of {sum(sizes)} numbers, but its config makes {len(expected)} of "
                f"{sum(expected)}"
            )


def _shapes(file):
    """The shapes of all float arrays, except an optimizer's."""
    # Integers are states of random generators. bfloat16 is stored as raw bytes, "void16".
    return [
        tensor.shape
        for name, tensor in read_hdf5(file).items()
        if not tensor.dtype.startswith(("int", "uint", "bool")) and not f"/{name}".startswith("/optimizer/")
    ]


def save(objects, variables, folder: Path):
    """Saves a model, or a backbone and its preprocessor, as a preset.

    Raises:
      OSError: in one line, for a full disk and its like.
    """
    _require_room_for(variables, folder)
    try:
        for saved in objects:
            saved.save_to_preset(str(folder))
    except (OSError, RuntimeError) as error:  # HDF5 reports a full disk by either, in several lines
        number = getattr(error, "errno", None) or errno.EIO
        raise OSError(number, f"the preset could not be written: {one_line(error)}") from None


def _require_room_for(variables, folder):
    """Checks for room first, because on a full disk HDF5 crashes instead of raising an error."""
    arrays = [math.prod(variable.shape) for variable in variables]
    size = 4 * sum(arrays) + _HDF5_OVERHEAD * (len(arrays) + 100)
    reserved = folder / "reserved"
    with reserved.open("wb") as file:
        for _ in range(0, size, _MIB):
            file.write(bytes(_MIB))
    reserved.unlink()
