"""`kbert.load`: any model that answers texts. Without TensorFlow until a model is found."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from kbert.checkpoints.formats import detect_format, local_path
from kbert.cli.commands import export_package

if TYPE_CHECKING:
    from kbert.inference.loaded_model import LoadedModel
    from kbert.inference.text_answers import TextAnswers

_LITERT = ".tflite"


def load(
    path,
    do_lower_case: bool | None = None,
    allow_unmatched=(),
    checkpoint: str | int | None = None,
    precision: str = "float32",
) -> "LoadedModel | TextAnswers":
    """Loads a model with its tokenizer and config.

    Args:
      path: a run directory of kbert, a sentence-transformers folder, or any checkpoint that
        `kbert.checkpoints.formats.read_checkpoint` reads: Google's TF1, Hugging Face, KerasHub; or a name,
        `hf://org/name@revision`, `keras_hub://preset` or `bert-base-uncased`. Or a file of
        `kbert export-litert` such as litert/sst2/model_float32.tflite, which takes no other argument.
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
    settings = (do_lower_case, allow_unmatched, checkpoint, precision)
    if Path(path).suffix != _LITERT:
        folder = local_path(path)
        detect_format(folder)  # raises an error where there is no model, before TensorFlow is imported
        from kbert.inference.loaded_model import load_model

        return load_model(path, *settings, folder=folder)
    if settings != (None, (), None, "float32"):
        raise ValueError(
            f"{path} is a LiteRT file, with its casing and weights inside; leave all other arguments out."
        )
    return importlib.import_module(f"{export_package()}.litert.loaded_file").LoadedFile(path)
