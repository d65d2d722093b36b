"""Detects the format of a checkpoint, and reads and writes every format."""

import dataclasses
import os
from pathlib import Path

from kbert.checkpoints import (
    GOOGLE,
    HUGGING_FACE,
    KBERT,
    KERAS_HUB,
    MODEL_GARDEN,
    google_tf1,
    kbert_run,
    model_garden,
)
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.answers import for_other_code
from kbert.checkpoints.hugging_face import hub, weights
from kbert.checkpoints.hugging_face.config import CONFIG_FILE as HUGGING_FACE_CONFIG
from kbert.checkpoints.hugging_face.folder import read_hugging_face
from kbert.checkpoints.hugging_face.folder_writing import write_hugging_face
from kbert.checkpoints.hugging_face.sentence_transformers import is_sentence_transformers
from kbert.checkpoints.keras_hub import preset as keras_hub
from kbert.checkpoints.model_variables import part_name
from kbert.checkpoints.near_models import models_around, models_like
from kbert.checkpoints.other_files import EXPORT_FILE, STATE_IN_RUN, other_model
from kbert.checkpoints.report import Report, files_beside, one_line, write_reports
from kbert.cli.progress import activity
from kbert.files import full_disk
from kbert.files.file_format import path_problem
from kbert.files.json_values import shown_name
from kbert.files.output_path import check_output_folder, require_free_folder
from kbert.files.whole_file import whole_folder
from kbert.runs.run_file import RUN_FILE, RUN_FILES, holds_run
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES

# Format -> function (path, do_lower_case or None, report to fill) -> BertCheckpoint.
_READERS = {
    KBERT: kbert_run.read_kbert_run,
    GOOGLE: google_tf1.read_google,
    MODEL_GARDEN: model_garden.read_model_garden,
    HUGGING_FACE: read_hugging_face,
    KERAS_HUB: keras_hub.read_keras_hub,
}
# Format -> function (checkpoint, empty folder, report to fill).
_WRITERS = {
    KBERT: kbert_run.write_kbert_run,
    GOOGLE: google_tf1.write_google,
    HUGGING_FACE: write_hugging_face,
    KERAS_HUB: keras_hub.write_keras_hub,
}
# The start of a name that is not a path -> function that downloads the model and returns its local folder.
_DOWNLOADS = {
    hub.SCHEME: hub.download,
    keras_hub.PRESET_SCHEME: keras_hub.download_preset,
    keras_hub.KAGGLE_SCHEME: keras_hub.download_preset,
}

LITERT = ".tflite"
# What no model is read from.
_REPORTS = (".jsonl", ".gz", ".bz2", ".xz", ".zst", ".csv", ".tsv", ".html", ".npy", ".npz", ".tfrecord")
_LITERT_FILES = (f"*{LITERT}", "kbert.json", "model_*.json", "labels.txt", *VOCABULARY_FILES)


def local_path(path) -> Path:
    """A path (~ is the home folder); for a name, `hf://org/name` or `bert-base-uncased`, the model's folder.

    What exists on disk is a path. With `hf://` the hub is asked first, and the cache answers without network;
    without it the cache is asked first, and the hub only for well-known names (see `find_model`).

    Raises:
      ValueError: for a name that is unknown or cannot be downloaded.
    """
    for scheme, download in _DOWNLOADS.items():
        if str(path).startswith(scheme):
            return download(str(path))
    path = Path(os.path.expanduser(path))  # pathlib's raises an error where there is no such user
    if path.exists() or google_tf1.checkpoint_prefix(path) is not None:
        return path
    return hub.find_model(str(path)) or path


def require_checkpoint(path):
    """Raises ValueError where `read_checkpoint` would find none, without TensorFlow; names of hubs wait."""
    if not str(path).startswith(tuple(_DOWNLOADS)):
        detect_format(local_path(path))


def kept_files(path) -> list[Path]:
    """The files of a model, which no report may replace: those of a run, or beside a LiteRT file what its
    export wrote; else all of its folder but what only reports are."""
    path = Path(os.path.expanduser(path))
    if path.suffix == LITERT:
        return [file for name in _LITERT_FILES for file in path.parent.glob(name)]
    if holds_run(path):
        return [path / name for name in (*RUN_FILES, *VOCABULARY_FILES)]
    is_in_folder = not path.is_dir() and google_tf1.checkpoint_prefix(path) is not None
    files = path.parent.glob("*") if is_in_folder else path.rglob("*") if path.is_dir() else [path]
    return [file for file in files if file.suffix not in _REPORTS and file.is_file()]


def detect_format(path) -> str:
    """The format of the checkpoint at `path`, from the files that are there: one of FORMATS.

    Raises:
      ValueError: for a path without a checkpoint; the sentence says what was looked for, and where one may
        be meant.
    """
    if (format := _find_format(Path(path))) is None:
        raise ValueError(_no_checkpoint(Path(path)))
    return format


def _find_format(path: Path) -> str | None:
    is_google = (path / google_tf1.CONFIG_FILE).is_file() or not (path / HUGGING_FACE_CONFIG).is_file()
    prefix = google_tf1.checkpoint_prefix(path) if is_google else None
    if prefix is not None:
        return MODEL_GARDEN if model_garden.is_object_checkpoint(prefix) else GOOGLE
    if holds_run(path):
        return KBERT
    if keras_hub.is_preset(path):
        return KERAS_HUB
    if (path / model_garden.SAVED_MODEL).is_file() and not (path / EXPORT_FILE).is_file():
        return MODEL_GARDEN
    if any(path.glob(STATE_IN_RUN)):  # beside a config.json of kbert
        return None
    if (path / HUGGING_FACE_CONFIG).is_file() or is_sentence_transformers(path):
        return HUGGING_FACE
    return None


def _no_checkpoint(path: Path) -> str:
    if not path.exists():
        return (
            f"checkpoint {path} {path_problem(path)}; give a run directory, a Hugging Face folder, a "
            "KerasHub preset, a checkpoint of TF1 or Model Garden (its folder, or .../bert_model.ckpt), a "
            "SavedModel of TF Hub, or a name: hf://org/name, bert-base-uncased."
            f"{models_like(path, hub.model_names())}"
        )
    around = models_around(path, holds_model)
    if not around and (other := other_model(path)):
        return f"{path}: {other}."
    return (
        f"{path} holds no checkpoint that kbert knows: no {RUN_FILE} (a run of kbert), no "
        f"{google_tf1.CHECKPOINT_NAME}.index (Google's TF1, Model Garden), no {HUGGING_FACE_CONFIG} "
        f"(Hugging Face, KerasHub), no {model_garden.SAVED_MODEL} (TF Hub).{around}"
    )


def holds_model(folder) -> bool:
    """Whether a folder is a checkpoint of any format, or holds several."""
    try:
        return _find_format(folder) is not None
    except ValueError:  # several of them
        return True


@activity("reading the checkpoint")
def read_checkpoint(
    path, do_lower_case: bool | None = None, allow_unmatched=(), folder: Path | None = None
) -> BertCheckpoint:
    """Reads a checkpoint; its files show the format. Tensors are read when they are asked for.

    Args:
      path: a run directory, a Hugging Face folder (of PyTorch's or TensorFlow's classes), a KerasHub preset,
        the folder or prefix of a checkpoint of TF1 or Model Garden, an encoder of TF Hub; or a name,
        `hf://org/name@revision`, `keras_hub://preset` or `bert-base-uncased`.
      do_lower_case: the casing, needed only if the checkpoint does not say it; it must not contradict the
        checkpoint.
      allow_unmatched: names and globs of tensors and settings that may differ, see `Report`.
      folder: where it lies, if `local_path` was asked before.

    Returns:
      A `BertCheckpoint`; its `report` lists every tensor.

    Raises:
      ValueError: for anything that is missing, broken, contradictory or unknown; and, whatever is allowed,
        for a checkpoint that has no tensor of the encoder.
    """
    folder = local_path(path) if folder is None else folder
    if folder != Path(path) and do_lower_case is None:
        do_lower_case = hub.known_casing(str(path))
    format = detect_format(folder)
    report = Report(format, str(folder), allow_unmatched=allow_unmatched)
    checkpoint = _READERS[format](folder, do_lower_case, report)
    others = [name for name in weights.WEIGHT_FILES if (folder / name).is_file()]
    if others and format in (GOOGLE, MODEL_GARDEN):
        report.warn(
            f"{folder}: {others[0]} is not read, because a checkpoint of TensorFlow is there too",
            "; move what you do not mean to another folder",
        )
    _require_encoder(report)
    if folder != Path(path):
        report.note(f"{path} lies in {folder}")
        report.path = str(path)
        checkpoint = dataclasses.replace(checkpoint, source=str(path))
    return checkpoint


def _require_encoder(report):
    if any(part_name(name) == "body" for _, name, _ in report.taken):
        return
    example = f" (it holds {shown_name(report.left_over[0][0])})" if report.left_over else ""
    raise ValueError(
        f"{report.path} gives the encoder none of its tensors{example}: all weights would be random numbers, "
        "whatever allow_unmatched says; give a checkpoint with the names of its format, or train from "
        "scratch."
    )


@activity("writing the checkpoint")
def write_checkpoint(
    checkpoint: BertCheckpoint, path, format: str, allow_unmatched=(), overwrite: bool = False
) -> Report:
    """Writes `checkpoint` as a new folder, completely or not at all, with the reports of reading and writing.

    Args:
      checkpoint: the model.
      path: the folder to make.
      format: one of FORMATS.
      allow_unmatched: see `read_checkpoint`.
      overwrite: whether the new folder may replace an earlier conversion, when the new one is complete.

    Returns:
      The report of the writing.

    Raises:
      ValueError: for an unknown format, a path that holds files already, or a model that the format cannot
        express. Nothing is left behind then.
      OSError: when it cannot be written, for example on a full disk; nothing is left behind then either.
    """
    path = Path(path)
    require_free(path, overwrite)
    written = Report(format, str(path), allow_unmatched=allow_unmatched)
    if format != KBERT:
        checkpoint = for_other_code(checkpoint, written)
    try:
        with whole_folder(path, replace=overwrite) as aside:
            _WRITERS[format](checkpoint, aside, written)
            write_reports(aside, checkpoint.report, written)
    except OSError as error:
        reason = error.strerror or one_line(error)
        raise OSError(
            full_disk.full_disk_sentence(error)
            or f"{path} could not be written: {reason}; check its path and its rights."
        ) from None
    return written


def require_free(path, overwrite: bool = False, inputs=()):
    """Refuses a folder that is not empty, except an earlier conversion if `overwrite` is set.

    Args:
      path: the folder to make.
      overwrite: whether an earlier conversion may be replaced.
      inputs: paths that are read; none of them may lie in the folder.

    Raises:
      ValueError: when the folder is refused, or would replace one of the inputs.
    """
    path = Path(path)
    for source in [Path(name) for name in inputs if not str(name).startswith(tuple(_DOWNLOADS))]:
        if source.resolve().is_relative_to(path.resolve()):
            raise ValueError(
                f"the new folder {path} would replace {source}, which is read; choose another folder."
            )
    check_output_folder(path)
    require_free_folder(path, overwrite, files_beside, "a conversion")
