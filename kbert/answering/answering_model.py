"""A trained model for answering."""

from kbert.answering.answering_encoder import AnsweringEncoder
from kbert.answering.weight_changes import WeightChanges
from kbert.encoder import BertEncoder
from kbert.tasks.task_model import TaskModel


class AnsweringModel:
    """Answers as a trained model does, but faster; see `AnsweringEncoder` for what is different.

    Args:
      model: a `TaskModel`, or a `BertEncoder` alone; in float32.
      precision: "float32" or "bfloat16", of the encoder.

    Call arguments:
      inputs: a dict of features, as `model` takes them.
      training: False; it is there because signatures say it.

    Returns:
      What `model` returns.

    Attributes:
      encoder: the `AnsweringEncoder`.
      input, output: dicts of symbolic tensors, those of the Keras model of a task.
    """

    def __init__(self, model: TaskModel | BertEncoder, precision: str = "float32"):
        has_task = isinstance(model, TaskModel)
        self._source, self._source_encoder = model, model.encoder if has_task else model
        self.encoder = AnsweringEncoder(self._source_encoder, precision, tuple(self._source_encoder.output))
        self._model = model.task.build_model(self.encoder) if has_task else self.encoder
        self.input, self.output = self._model.input, self._model.output if has_task else None
        self._renew_heads()
        self._changes: WeightChanges | None = None  # made when it is first asked for: an export has no need

    def __call__(self, inputs, training=False):
        if training:
            raise ValueError("an AnsweringModel is not trained; train the model that it was made of.")
        return self._model(inputs)

    def renew_if_changed(self):
        """Calls `renew` if the model that it was made of has changed, see `WeightChanges`."""
        if self._changes is None:
            self._changes = WeightChanges(self._source.variables)
            self.renew()
        elif self._changes():
            self.renew()

    def renew(self):
        """Takes the weights of the model that it was made of again."""
        self.encoder.renew()
        self._renew_heads()

    def _renew_heads(self):
        """Copies the variables that are not of the encoder, which both models have in the same order."""
        shared = {id(variable) for variable in self._source_encoder.variables}
        own, theirs = (
            [variable for variable in model.variables if id(variable) not in shared]
            for model in (self._model, self._source)
        )
        for variable, value in zip(own, theirs, strict=True):
            variable.assign(value)
