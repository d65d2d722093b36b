"""The Keras model of a task on stored features: a `TaskModel` without an encoder."""

import dataclasses
from typing import Any, NamedTuple

import keras

from kbert.config import EncoderConfig
from kbert.tasks.task_model import TaskModel


class NoEncoder(NamedTuple):
    """Stands in for the encoder when a saved model is built again.

    Args:
      config: the config of the encoder that the features are from.
      policy: the Keras dtype policy.
    """

    config: EncoderConfig
    policy: Any


@keras.saving.register_keras_serializable(package="kbert")
class LayerModel(TaskModel):
    """A functional model from stored features to a dict of outputs. Its `encoder` is None.

    Args:
      task: the `Task` that built it.
      encoder_config: the config of the encoder that the features are from.
      policy: the Keras dtype policy.
      inputs: dict of symbolic inputs.
      outputs: dict of symbolic outputs.
    """

    def __init__(self, task, encoder_config: EncoderConfig, policy, inputs: dict, outputs: dict):
        super().__init__(task, None, inputs, outputs)
        self._encoder_config = encoder_config
        self._policy = policy

    def get_config(self):
        return {
            "task": {"name": self.task.name, "config": self.task.get_config()},
            "encoder_config": dataclasses.asdict(self._encoder_config),
            "dtype": keras.dtype_policies.serialize(self._policy),
        }

    @classmethod
    def from_config(cls, config):
        from kbert.tasks import TASKS

        task = TASKS[config["task"]["name"]](**config["task"]["config"])
        policy = keras.dtype_policies.get(config["dtype"])
        return task.build_model(NoEncoder(EncoderConfig(**config["encoder_config"]), policy))
