"""Tokenizer + packer + trained task as named signatures: text in, answer out."""

import keras
import tensorflow as tf

from kbert.answering.answering_model import answering_model
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.text_inputs import TextInputs


class ServingModel:
    """A trained run as functions for a SavedModel: the signatures that its task has.

    They answer by an `answering_model`, as answers in Python do. Texts longer than the run's `max_seq_length`
    are truncated, or cut into windows, as in training.

    Args:
      run: the `RunDirectory` of a run whose task answers texts.
      precision: "float32" or "bfloat16", see `AnsweringEncoder`.

    Attributes:
      source: the run's path.
      task: its `Task`.
      signatures: name -> `kbert.tasks.task.Signature`.
      trained_signatures: the same of the Keras model as it was trained, in float32.

    Raises:
      ValueError: for a run whose task does not answer texts, or with weights that are not finite.
    """

    def __init__(self, run: RunDirectory, precision: str = "float32"):
        self.source, task = run.path, run.task()
        if not task.inputs:
            raise ValueError(
                f"{run.path} is a {task.name} run, which does not answer texts; a serving model needs "
                "one that does, for example a run of run_finetuning."
            )
        self.task, model = run.load_model()
        text_inputs = TextInputs(run.vocabulary(), run.details["max_seq_length"])
        self.signatures = self.task.signatures(answering_model(model, precision), text_inputs)
        self.trained_signatures = self.task.signatures(model, text_inputs)

    def write(self, directory):
        """Writes the SavedModel, with each weight stored once.

        `ExportArchive.track` is not called: it would store every weight twice, and it is not needed,
        because the archive finds the variables that the endpoint functions capture.
        """
        archive = keras.export.ExportArchive()
        for name, signature in self.signatures.items():
            specs = [
                tf.TensorSpec(shape, dtype, name=argument)
                for argument, (dtype, shape) in signature.inputs.items()
            ]
            archive.add_endpoint(name, signature.function, specs)
        archive.write_out(str(directory), verbose=False)
