"""The door: `kbert.load` and `open_model` make a model of a path. Without TensorFlow until one is found."""

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kbert.checkpoints.formats import LITERT, detect_format, local_path, read_checkpoint
from kbert.checkpoints.report import require_all_matched
from kbert.checks import with_checked_arguments
from kbert.cli.commands import export_package
from kbert.cli.progress import activity
from kbert.inference import loaded_model
from kbert.runs.run_directory import RunDirectory
from kbert.runs.run_file import holds_run

if TYPE_CHECKING:
    from kbert.inference.loaded_model import LoadedModel
    from kbert.inference.text_answers import TextAnswers


@with_checked_arguments
def load(
    path: str | Path | RunDirectory,
    do_lower_case: bool | None = None,
    allow_unmatched=(),
    checkpoint: str | int | None = None,
    precision: Literal["float32", "bfloat16"] = "float32",
) -> "LoadedModel | TextAnswers":
    """Loads a model with its tokenizer and config.

    Args:
      path: a run directory of kbert, a sentence-transformers folder, or any checkpoint that
        `kbert.checkpoints.formats.read_checkpoint` reads: Google's TF1, Hugging Face, KerasHub; or a name,
        `hf://org/name@revision`, `keras_hub://preset` or `bert-base-uncased`. Or a file of
        `kbert export-litert` such as litert/sst2/model_float32.tflite, which takes no other argument. Or a
        `RunDirectory`.
      do_lower_case: the casing, if the checkpoint does not record it.
      allow_unmatched: names and globs of a checkpoint's tensors and settings that may stay unmatched; a run
        of kbert has none.
      checkpoint: which of a run's checkpoints: "last", "best" or a step; see `RunDirectory.checkpoint`.
      precision: "float32"; or "bfloat16", in which the encoder then answers (see `AnsweringEncoder`), for
        machines with instructions for it. The weights of `LoadedModel.model` are float32 in both cases.

    Returns:
      A `LoadedModel`; for a .tflite file a `LoadedFile`, which has its `predict`, `rank` and `embed`.

    Raises:
      ValueError: when something is missing, broken, contradictory or unknown.

    Examples:
      >>> import kbert
      >>> loaded = kbert.load(run_dir)  # for example "runs/classifier"
      >>> loaded.task.name, loaded.config.hidden_size
      ('sequence_classification', 16)
      >>> outputs = loaded.model(loaded.inputs(["jump the a", "walk a"]))
      >>> tuple(outputs["probabilities"].shape)
      (2, 2)
    """
    loaded: Any = open_any(path, do_lower_case, allow_unmatched, checkpoint, precision)
    if hasattr(loaded, "run"):  # a LiteRT file has none
        loaded.model  # noqa: B018  # reads its weights
    return loaded


def open_any(path, do_lower_case=None, allow_unmatched=(), checkpoint=None, precision="float32"):
    """As `load`, but that the weights are read when `LoadedModel.model` or an answer is first asked for."""
    settings = (do_lower_case, allow_unmatched or (), checkpoint, precision)
    if not isinstance(path, str | os.PathLike) or Path(path).suffix != LITERT:
        return open_model(path, *settings)
    if settings != (None, (), None, "float32"):
        raise ValueError(
            f"{path} is a LiteRT file, with its casing and weights inside; leave all other arguments out."
        )
    return importlib.import_module(f"{export_package()}.litert.loaded_file").LoadedFile(path)


def model_path(source):
    """The path or name of what `open_model` takes."""
    return getattr(source, "path", getattr(source, "source", source))


@activity("reading the model")
def open_model(
    source,
    do_lower_case: bool | None = None,
    allow_unmatched=(),
    checkpoint: str | int | None = None,
    precision: str = "float32",
    needs_run: str = "",
) -> "LoadedModel":
    """What a path holds, as a model whose weights are read when they are first asked for.

    Every command and class that takes a model opens it here. What can be refused is refused before TensorFlow
    is imported.

    Args:
      source: a path or name as for `load`; or a `RunDirectory`; or a `LoadedModel`, which is returned.
      do_lower_case, allow_unmatched, checkpoint, precision: as for `load`; a `LoadedModel` takes none.
      needs_run: the name of what the caller was asked for that only a run of kbert has; empty for nothing.

    Raises:
      ValueError: as `load` does, and for what is no run where `needs_run` says that one is needed.
    """
    settings = {
        "do_lower_case": do_lower_case,
        "checkpoint": checkpoint,
        "allow_unmatched": allow_unmatched or None,
        "precision": None if precision == "float32" else precision,
    }
    if not isinstance(source, str | os.PathLike | RunDirectory):
        return _loaded_before(source, settings, needs_run)
    if isinstance(source, RunDirectory):
        run, folder, source = source, source.path, source.path
    else:
        source = os.fspath(source)  # `str` of an os.DirEntry is not its path
        folder = local_path(source)
        detect_format(folder)  # raises an error where there is no model
        run = RunDirectory(folder) if holds_run(folder) else None
    if run is None:
        _require_run(source, needs_run)
        if checkpoint is not None:
            raise ValueError(
                f"checkpoint={checkpoint!r} chooses a checkpoint of a run, but {source} is not a run; leave "
                "it out."
            )
        loaded = loaded_model.loaded_checkpoint(
            read_checkpoint(source, do_lower_case, allow_unmatched, folder), precision=precision
        )
    else:
        run.require_casing(do_lower_case)
        require_all_matched(run.path, allow_unmatched)
        run.checkpoint(checkpoint)  # raises an error where there is none
        loaded = loaded_model.loaded_run(run, checkpoint, precision=precision)
    loaded.source = str(source)
    return loaded


def _loaded_before(loaded, settings, needs_run):
    if not hasattr(loaded, "source"):
        raise ValueError(
            f"received a {type(loaded).__name__} as the model; expected a path or name as for kbert.load, or "
            "what it returns."
        )
    if not hasattr(loaded, "run"):
        detect_format(loaded.source)  # raises an error that says what a LiteRT file is
    if not loaded.run:
        _require_run(loaded.source, needs_run)
    for name in (name for name, value in settings.items() if value is not None):
        raise ValueError(
            f"{name}={settings[name]!r} says how a model is loaded, but this one is taken as it is; give it "
            f"where you load it: kbert.load(path, {name}=...)."
        )
    return loaded


def _require_run(source, needs_run):
    if needs_run:
        raise ValueError(
            f"{needs_run} is for runs of kbert, but {source} is not a run; convert it first: kbert "
            f"convert --from={source} --to=runs/{Path(source).name}"
        )
