"""Tokenizer + packer + trained task as named signatures: text in, answer out."""

import math
from pathlib import Path

from kbert.config.pooling_config import require_dimensions
from kbert.inference import answering_encoder
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.loading import open_model
from kbert.runs.run_directory import RunDirectory

from . import saved_model


class ServingModel:
    """A trained model as functions for a SavedModel: the signatures that its task has.

    They answer by an `answering_model`, as answers in Python do. Texts longer than the model's
    `max_seq_length` are truncated, or cut into windows, as in training.

    Args:
      source: a `LoadedModel` whose task answers texts, or what `open_model` makes one of.
      precision: "float32" or "bfloat16", see `AnsweringEncoder`.
      dimensions: how many numbers of each vector of a text its signatures give; None for all.

    Attributes:
      loaded: the `LoadedModel`.
      source: where it comes from.
      checkpoint: the file or folder of its weights.
      task: its `Task`.
      signatures: name -> `Signature`.
      trained_signatures: the same of the Keras model as it was trained, in float32.

    Raises:
      ValueError: for a task that does not answer texts, or not in this precision, for `dimensions`
        that its vectors do not have, or weights that are not finite.
    """

    def __init__(
        self,
        source: RunDirectory | LoadedModel,
        precision: str = "float32",
        dimensions: int | None = None,
    ):
        self.loaded = open_model(source)
        self.source = self.loaded.source
        _require_answers(self.source, self.loaded.task)
        if precision != "float32" and self.loaded.task.reads_unattended:
            raise ValueError(
                f"precision={precision!r}: queries of {self.source} are filled with tokens that nobody "
                "attends to, which are answered in float32, and an export stores each weight once; export it "
                "in float32."
            )
        if dimensions is not None:
            _require_vectors(self.loaded, dimensions)
        model, text_inputs = self.loaded.model, self.loaded.text_inputs
        self.task = self.loaded.task  # of the checkpoint that was read
        self.checkpoint: Path | str = self.loaded.checkpoint or self.source
        answering = answering_encoder.answering_model(model, precision)
        self.signatures = self.task.serving.signatures(answering, text_inputs)
        self.trained_signatures = self.task.serving.signatures(model, text_inputs)
        if dimensions is not None:
            self.signatures, self.trained_signatures = (
                self.task.serving.shortened(signatures, dimensions)
                for signatures in (self.signatures, self.trained_signatures)
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels in id order; none where the task has none."""
        return tuple(getattr(self.task, "labels", ()))

    @property
    def num_parameters(self) -> int:
        """How many numbers the trained model has; random generators are none of it."""
        return sum(math.prod(weight.shape) for weight in self.loaded.model.weights if "float" in weight.dtype)

    def write(self, directory):
        """Writes the SavedModel, with each weight stored once."""
        saved_model.write_saved_model(
            {name: (signature.function, signature.specs) for name, signature in self.signatures.items()},
            directory,
        )


def _require_vectors(loaded, dimensions):
    if not hasattr(loaded.task.serving, "shortened"):
        raise ValueError(
            f"dimensions={dimensions} is of models that give one vector for each text; {loaded.source} has "
            f"the task {loaded.task.name}; leave it out."
        )
    require_dimensions("dimensions", dimensions, loaded.task.pooling.width(loaded.config.hidden_size))


def _require_answers(source, task):
    if task.serving is None:
        raise ValueError(
            f"{source} has the task {task.name}, which has no predictions for texts; export a run of "
            "kbert finetune or kbert pretrain, a checkpoint with a head, or an encoder with a pooling for "
            "sentence embeddings (kbert serve takes the mean of the tokens where an encoder has none)."
        )
