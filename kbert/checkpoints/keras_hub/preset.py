"""Reads and writes KerasHub presets: the only place in kbert that imports keras_hub, and only when needed.

The weights go through KerasHub's own loader and saver. Its `from_preset` is not used for reading: where a
task's weights are missing it silently gives random ones, and it builds any class that a file names.
"""

import errno
import math
import os
import shutil
from pathlib import Path

import numpy as np

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.encoder_settings import (
    require_no_projection,
    require_pooler,
    require_settings,
)
from kbert.checkpoints.conversion.matching import Stored, match
from kbert.checkpoints.conversion.names import KERAS_HUB, rows
from kbert.checkpoints.conversion.vocabulary_checks import check_sizes
from kbert.checkpoints.format_names import KERAS_HUB as FORMAT
from kbert.checkpoints.keras_hub.arrays import stored_shapes
from kbert.checkpoints.keras_hub.config import (
    CLASSIFICATION,
    FIXED,
    MASKED_LM_SETTINGS,
    add_own_keys,
    backbone_arguments,
    embedding_settings,
    is_preset,
    parse_preset,
)
from kbert.checkpoints.keras_hub.tokenizer import VOCABULARY_FILE, read_preset_tokenizer
from kbert.checkpoints.model_variables import body_shapes, fresh_value, part_of, parts_of, with_pooler
from kbert.checkpoints.report import Report
from kbert.config import EncoderConfig
from kbert.files.stored_tensor import StoredTensor
from kbert.heads.parts import MASKED_LM

__all__ = [
    "FORMAT",
    "download_preset",
    "embedding_settings",
    "is_preset",
    "read_keras_hub",
    "write_keras_hub",
]

PRESET_SCHEME, KAGGLE_SCHEME = "keras_hub://", "kaggle://"
BACKBONE_WEIGHTS, TASK_WEIGHTS = "model.weights.h5", "task.weights.h5"
_HDF5_OVERHEAD = 8192  # bytes for an array and its groups, at most
# What h5py and Keras's loader raise for a damaged file; a cyclic group makes h5py recurse.
_HDF5_ERRORS = (OSError, ValueError, KeyError, RuntimeError, TypeError, IndexError, AttributeError)
# The head -> the class that is written for it. Heads that no class has are errors, unless allowed by name.
_CLASSES = {CLASSIFICATION: "BertTextClassifier", MASKED_LM.name: "BertMaskedLM"}


def read_keras_hub(
    path, do_lower_case: bool | None = None, allowance: Allowance | None = None
) -> BertCheckpoint:
    """Reads a preset folder of a BertBackbone, BertTextClassifier, BertMaskedLM or BertTextEmbedder.

    Args:
      path: the folder, as `save_to_preset` writes it, with the tokenizer.
      do_lower_case: may be given, but must agree with the preset.
      allowance: names that may stay unmatched.

    Raises:
      ValueError: for anything that is missing, broken, or unknown to kbert. Settings are checked before
        keras_hub is imported and any tensor is read.
    """
    folder, allowance = Path(path), allowance or Allowance()
    report = Report(FORMAT, str(path))
    preset = parse_preset(folder, allowance, report)
    vocabulary = read_preset_tokenizer(folder, do_lower_case, allowance, report)
    check_sizes(vocabulary, preset.encoder, str(folder), preset.own.vocabulary_size, allowance, report)

    parts = with_pooler(parts_of(preset.task, preset.labels))  # a backbone always has its pooler
    shapes = _shapes(preset.encoder, parts)
    table_rows = rows(KERAS_HUB, parts, preset.encoder.num_hidden_layers)
    _check_weight_files(folder, preset, shapes)
    model = _build(preset.class_name, preset.backbone, len(preset.labels), compile=False)
    variables = _load(folder, preset.class_name, model, allowance, report)

    places = {row.outside: row.kbert for row in table_rows}
    made_up = {name: "initialised at a conversion, never trained" for name in preset.own.untrained}
    stored = Stored(
        {
            name: _stored_tensor(variable, shapes.get(places.get(name), tuple(variable.shape)))
            for name, variable in variables.items()
            if places.get(name) not in made_up
        }
    )
    report.left_over.extend((name, made_up[at]) for name, at in places.items() if at in made_up)
    tensors = match(
        stored, table_rows, shapes, preset.own.may_be_missing(), preset.class_name, allowance, report
    )
    report.taken[:] = [(name, kbert, _how(variables[name], shapes[kbert])) for name, kbert, _ in report.taken]
    report.note(f"class {preset.class_name}, read as kbert's task {preset.task!r}")
    return BertCheckpoint(
        source=str(path),
        encoder=preset.encoder,
        task=preset.task,
        labels=preset.labels,
        vocabulary=vocabulary,
        tensors=tensors,
        max_seq_length=preset.max_seq_length or preset.encoder.max_position_embeddings,
        report=report,
        pooling=embedding_settings(folder),
    )


def write_keras_hub(checkpoint: BertCheckpoint, folder: Path, allowance: Allowance) -> Report:
    """Writes a preset that `keras_hub.models.Bert...from_preset(folder)` loads as it is, tokenizer included.

    A classifier is written as BertTextClassifier, a masked LM as BertMaskedLM, all else as BertBackbone.

    Args:
      checkpoint: the model. Missing variables get fresh initial values; metadata.json lists their names.
      folder: an empty folder.
      allowance: `hidden_act`, `layer_norm_eps`, `masked_lm_settings`, `pooler_hidden_act`, for which KerasHub
        then uses its own values; and kbert's names of variables that KerasHub does not have.

    Returns:
      The report of the writing.

    Raises:
      ValueError: for a model whose numbers KerasHub would not reproduce.
    """
    report = Report(FORMAT, str(folder))
    encoder = checkpoint.encoder
    require_no_projection(encoder, "KerasHub's BertBackbone")
    head = next((part for part in _CLASSES if part in checkpoint.parts), None)
    parts = with_pooler({name: part for name, part in checkpoint.parts.items() if name == head})
    shapes = _shapes(encoder, parts)
    _require_same_numbers(checkpoint, shapes, allowance, report)
    untrained = [name for name in shapes if name not in checkpoint.tensors]
    report.not_in_file.extend((name, "initialised, listed in metadata.json") for name in untrained)

    class_name = _CLASSES[head] if head else None
    preprocessor = _preprocessor(checkpoint, class_name)
    model = _build(
        class_name or "BertBackbone",
        backbone_arguments(encoder),
        len(checkpoint.labels),
        **({"preprocessor": preprocessor} if class_name else {}),
    )
    variables = {variable.path: variable for variable in model.weights}
    for row in rows(KERAS_HUB, parts, encoder.num_hidden_layers):
        variable, tensor = variables[row.outside], checkpoint.tensors.get(row.kbert)
        if tensor is None:
            numbers = fresh_value(row.kbert, shapes[row.kbert], encoder.initializer_range)
        else:
            numbers = tensor.as_float32().read()
            report.taken.append((row.outside, row.kbert, _how(variable, tensor.shape)))
        variable.assign(numbers.reshape(variable.shape))
    _require_room_for(variables.values(), folder)
    _save([model] if class_name else [model, preprocessor], folder)
    # KerasHub writes an empty line for U+2028, a token of the Chinese vocabulary.
    checkpoint.vocabulary.write(folder / VOCABULARY_FILE)
    add_own_keys(folder, checkpoint, head, untrained, report)
    report.note(f"class {class_name or 'BertBackbone'}")
    report.note("KerasHub's tokenizer gives other ids than kbert's for some texts, see docs/checkpoints.md")
    return report


def _require_same_numbers(checkpoint, shapes, allowance, report):
    """Notes or refuses settings that KerasHub replaces by its own, and variables that it does not have."""
    for name in ("hidden_act", "layer_norm_eps"):
        value = getattr(checkpoint.encoder, name)
        if value != FIXED[name]:
            allowance.conflict(
                name,
                f"{name} is {value!r}, but KerasHub's BertBackbone always takes {FIXED[name]!r} and would "
                "give other numbers",
                report,
            )
    require_settings(checkpoint, MASKED_LM_SETTINGS, "KerasHub's BertMaskedLM", allowance, report)
    require_pooler(checkpoint, "tanh", "KerasHub's BertBackbone", allowance, report)
    for name in checkpoint.tensors:
        if name not in shapes:
            allowance.conflict(name, f"KerasHub has no variable for {name}", report)
            report.left_over.append((name, "KerasHub has no variable for it; allowed"))


def _preprocessor(checkpoint, class_name):
    models, vocabulary = _import_keras_hub().models, checkpoint.vocabulary
    tokenizer = models.BertTokenizer(
        vocabulary=list(vocabulary.tokens),
        lowercase=vocabulary.do_lower_case,
        strip_accents=vocabulary.do_lower_case,
    )
    # A bare backbone gets a classifier's preprocessor: without one KerasHub would take a length of 512.
    preprocessor_class = getattr(models, f"{class_name or 'BertTextClassifier'}Preprocessor")
    return preprocessor_class(tokenizer, sequence_length=checkpoint.max_seq_length)


def _save(parts, folder):
    try:
        for part in parts:
            part.save_to_preset(str(folder))
    except (OSError, RuntimeError) as error:  # HDF5 reports a full disk by either, in several lines
        number = getattr(error, "errno", None) or errno.EIO
        raise OSError(number, f"the preset could not be written: {_one_line(error)}") from None


def _require_room_for(variables, folder):
    """Checks for room first, because on a full disk HDF5 crashes instead of raising an error."""
    arrays = [math.prod(variable.shape) for variable in variables]
    size = 4 * sum(arrays) + _HDF5_OVERHEAD * (len(arrays) + 100)
    if not hasattr(os, "posix_fallocate"):  # macOS
        if shutil.disk_usage(folder).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return
    reserved = folder / "reserved"
    with reserved.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    reserved.unlink()


def download_preset(name: str) -> Path:
    """Downloads a preset through kagglehub, or finds it in its cache (KAGGLEHUB_CACHE).

    Args:
      name: "keras_hub://bert_tiny_en_uncased", any name of `keras_hub.models.BertBackbone.presets`; or
        "kaggle://org/model/keras/variant", with or without a version at the end.

    Returns:
      The preset's folder.

    Raises:
      ValueError: for an unknown name, or when it can neither be downloaded nor found.
    """
    keras_hub = _import_keras_hub()
    import kagglehub

    if name.startswith(KAGGLE_SCHEME):
        handle = name.removeprefix(KAGGLE_SCHEME)
    else:
        presets = keras_hub.models.BertBackbone.presets
        preset = presets.get(name.removeprefix(PRESET_SCHEME))
        if preset is None:
            raise ValueError(f"{name} is not a BERT preset of KerasHub; it has {', '.join(sorted(presets))}.")
        handle = preset["kaggle_handle"].removeprefix(KAGGLE_SCHEME)
    try:
        return Path(kagglehub.model_download(handle))
    except (OSError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name} could not be downloaded and is not in kagglehub's cache ({_one_line(error)}); check the "
            "name and the network, or give the path of a downloaded preset."
        ) from None


# --------------------------------------------------------------------------------------- keras_hub


def _import_keras_hub():
    try:
        import keras_hub
    except ImportError as error:
        raise ValueError(
            f"KerasHub presets need the package keras-hub ({error}); install it: "
            "pip install keras-nlp==0.32.0"
        ) from None
    return keras_hub


def _build(class_name, backbone_arguments, num_labels, **task_arguments):
    """A fresh model in float32, whatever Keras's default type is."""
    models = _import_keras_hub().models
    backbone = models.BertBackbone(**backbone_arguments, dtype="float32")
    if class_name == "BertBackbone":
        return backbone
    if class_name == "BertTextClassifier":
        task_arguments |= {"num_classes": num_labels, "dropout": backbone_arguments["dropout"]}
    return getattr(models, class_name)(backbone, **task_arguments)


def _load(folder, class_name, model, allowance, report):
    """Loads the preset's weight files. Returns path -> variable for the loaded variables of `model`."""
    backbone = model if class_name == "BertBackbone" else model.backbone
    variables = {variable.path: variable for variable in backbone.weights}
    file = folder / BACKBONE_WEIGHTS
    _load_file(file, backbone.load_weights, len(variables), allowance, report)
    if model is backbone:
        return variables
    head = {variable.path: variable for variable in model.weights if variable.path not in variables}
    file = folder / TASK_WEIGHTS
    if file.is_file():
        _load_file(file, model.load_task_weights, len(head), allowance, report)
        variables |= head
    else:
        report.note(f"no {TASK_WEIGHTS}: the head was not saved")
    return variables


def _check_weight_files(folder, preset, shapes):
    """Checks that the files hold enough numbers, before a model of the config's size is built."""
    if not (folder / BACKBONE_WEIGHTS).is_file():
        raise ValueError(f"{folder} holds no {BACKBONE_WEIGHTS}; use the complete preset.")
    heads = {name for name in shapes if part_of(name) not in ("body", "pooler")}
    _check_room(folder / BACKBONE_WEIGHTS, [shapes[name] for name in shapes if name not in heads])
    if preset.class_name != "BertBackbone" and (folder / TASK_WEIGHTS).is_file():
        _check_room(folder / TASK_WEIGHTS, [shapes[name] for name in heads])


def _check_room(file, shapes):
    expected = sum(math.prod(shape) for shape in shapes)
    try:
        found = sum(math.prod(shape) for shape in stored_shapes(file))
    except _HDF5_ERRORS as error:
        raise _broken(file, error) from None
    if found < expected:
        raise _broken(file, f"{found} numbers, but its config makes {expected}")


def _broken(file, error):
    return ValueError(
        f"{file} is broken or not of the model that {file.parent} describes ({_one_line(error)}); use the "
        "files of one preset."
    )


def _load_file(file, load, expected, allowance, report):
    try:
        count = len(stored_shapes(file))
        load(str(file))
    except _HDF5_ERRORS as error:
        raise _broken(file, error) from None
    if count != expected:
        allowance.conflict(
            file.name, f"{file} holds {count} arrays, but the model has {expected} variables for them", report
        )


def _one_line(error):
    return " ".join(str(error).split())[:300].rstrip(".")


def _shapes(encoder: EncoderConfig, parts):
    shapes = body_shapes(encoder)
    for part in parts.values():
        shapes |= part.shapes(encoder)
    return shapes


def _stored_tensor(variable, shape):
    return StoredTensor(shape, "float32", lambda: np.array(variable).reshape(shape))


def _how(variable, shape):
    """`shape` is kbert's."""
    there = tuple(variable.shape)
    return "as it is" if there == tuple(shape) else f"heads joined, {there} there"
