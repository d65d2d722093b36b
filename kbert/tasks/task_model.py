"""What every task's `build_model` returns: a functional Keras model that knows its task."""

import keras

from kbert.checks import SHORTEST_LENGTH
from kbert.features import EXAMPLE_WEIGHTS
from kbert.tasks import TASKS
from kbert.tasks.task import Task


@keras.saving.register_keras_serializable(package="kbert")
class TaskModel(keras.Model):
    """A functional model from a dict of features to a dict of outputs, made of an encoder and heads.

    `save`, `load_model`, `summary`, composition with other layers, `compile` and `fit` are Keras's own.
    If it is compiled without a loss, it trains on the loss of its task: `fit` then takes dicts that hold the
    features and the labels under the task's names, or the features as `x` and the labels as `y`, which needs
    no name where the task has one label feature. Use kbert.training instead of `fit` for
    several devices, for clipping after the all-reduce, and for resuming.

    Args:
      task: the `Task` that built it.
      encoder: the `BertEncoder` in it.
      inputs: dict of symbolic inputs.
      outputs: dict of symbolic outputs.
      read: symbolic tensor of shape (batch, seq_length, width): all that heads on tokens read of the encoder;
        None for others.

    Attributes:
      task, encoder, read: as given.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, SequenceClassification
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = SequenceClassification(["no", "yes"]).build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((4, 7), "int32")
      >>> batch = {"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids, "label_ids": ids[:, 0]}
      >>> model.compile(keras.optimizers.AdamW(1e-3))
      >>> history = model.fit(batch, epochs=3, verbose=0)
      >>> history.history["loss"][-1] < history.history["loss"][0]
      True
    """

    def __init__(self, task: Task, encoder, inputs: dict, outputs: dict, read=None):
        super().__init__(inputs=inputs, outputs=outputs, name=task.name)
        self.task = task
        self.encoder = encoder
        self.read = read

    def call(self, inputs, training=None, mask=None):
        # A batch may also contain labels, which are not inputs.
        return super().call({name: inputs[name] for name in self.input}, training=training, mask=mask)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The compiled loss; if there is none, the sum over the task's losses of sum / weight.

        Raises:
          ValueError: when the labels are not in the batch, or a compiled loss does not name its output.
        """
        if self._compile_loss is not None:
            if not isinstance(self.loss, dict):
                raise ValueError(
                    f"which output is {self.loss} the loss of? Name it, as "
                    f"loss={{{next(iter(self.output))!r}: ...}}; the {self.task.name} model gives "
                    f"{', '.join(self.output)}."
                )
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        batch = x | self._labels(y)
        if sample_weight is not None:
            # Keras may have repeated it for every label.
            batch[EXAMPLE_WEIGHTS] = keras.tree.flatten(sample_weight)[0]
        try:
            weights = self.task.loss_weights(batch, training=training)
            sums = self.task.loss_sums(y_pred, batch, training=training)
        except KeyError as missing:
            raise ValueError(
                f"the {self.task.name} loss needs {missing} in each batch, but a batch has "
                f"{', '.join(batch)}; add it, give it by name (y={{{missing}: ...}}), or compile the model "
                "with your own loss."
            ) from None
        return sum(sums[name] / weights[name] * self.task.loss_factor(name) for name in sums)

    def _labels(self, y) -> dict:
        """The labels by the task's names: `y` needs none where the task has one label feature."""
        if y is None or isinstance(y, dict):
            return y or {}
        names = [name for name in self.task.features(SHORTEST_LENGTH) if name not in self.input]
        return {names[0]: y} if len(names) == 1 else {}

    def get_config(self):
        return {
            "task": {"name": self.task.name, "config": self.task.get_config()},
            "encoder": keras.saving.serialize_keras_object(self.encoder),
        }

    @classmethod
    def from_config(cls, config):
        task = TASKS[config["task"]["name"]](**config["task"]["config"])
        return task.build_model(keras.saving.deserialize_keras_object(config["encoder"]))
