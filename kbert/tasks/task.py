"""The base class of tasks: the methods that training, evaluation, prediction and serving use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from keras import ops

from kbert.config import DatasetConfig, FinetuningConfig, from_dict
from kbert.config.pooling_config import PoolingConfig
from kbert.features import EXAMPLE_WEIGHTS
from kbert.heads.parts import Part
from kbert.kernels.logits import cross_entropy
from kbert.tasks.contract.answers import AnswersOfTask
from kbert.tasks.contract.data import DataOfTask
from kbert.tasks.contract.model import ModelOfTask
from kbert.tasks.contract.rows import (
    ALL_REPLICAS,
    NUM_TOKENS,
    ExampleFeatures,
    Predictions,
    SoftTarget,
)
from kbert.tasks.contract.scores import ScoresOfTask

__all__ = [
    "ALL_REPLICAS",
    "NUM_TOKENS",
    "ExampleFeatures",
    "NoSettings",
    "Predictions",
    "SoftTarget",
    "Task",
    "correct",
    "cross_entropies",
    "example_weights",
    "near",
    "reads_files",
]


@dataclass(frozen=True)
class NoSettings:
    """The settings of a task that has none."""


class Task(DataOfTask, ModelOfTask, ScoresOfTask, AnswersOfTask):
    """A kind of task: defines its examples and features, its model, its metrics and its answers.

    Scripts, trainer, evaluation, checkpoints, statistics and exporters use a task only through its methods,
    never through its name or class. Those of this file make the task itself; the others are in
    kbert/tasks/contract/, a file for each: data, model, scores, answers.
    docs/add_a_task.md explains a complete example.

    Sums and weights are separate, so that the mean does not depend on the number of replicas and batches:
    every training loss is `loss_sums[name] / loss_weights[name]` over the global batch, and every metric of
    `metric_sums` is the quotient of two sums over all batches. A metric that is not such a quotient, for
    example a rank correlation, comes from `score`, which receives the predictions of the whole evaluation.

    Example, a regression without its data:
      >>> import numpy as np
      >>> from keras import ops
      >>> from kbert import Task
      >>> from kbert.tasks.task import example_weights
      >>> class Regression(Task):
      ...     name = "my_regression"
      ...     def build_model(self, encoder): ...  # -> keras.Model with an output "prediction"
      ...     def loss_weights(self, batch):
      ...         return {"loss": ops.sum(example_weights(batch))}
      ...     def loss_sums(self, outputs, batch):
      ...         error = ops.square(outputs["prediction"] - batch["targets"])
      ...         return {"loss": ops.sum(example_weights(batch) * error)}
      >>> batch = {"input_ids": np.zeros((2, 7), "int32"), "targets": np.array([1.0, 2.0], "float32")}
      >>> outputs = {"prediction": np.array([1.5, 2.0], "float32")}
      >>> task = Regression()
      >>> float(task.loss_sums(outputs, batch)["loss"] / task.loss_weights(batch)["loss"])
      0.125

    Attributes:
      name: the task's key in `TASKS`.
      config_class: the config that trains it.
      settings_class: a frozen dataclass with the `task_settings` that a config may give; its `__post_init__`
        checks the values.
      row_settings: the names of the settings that change the rows; records must have been made with the same
        values.
      best_metric: the metric that decides which checkpoint is the best, unless a config names another one.
      collected: the names of the outputs and features that `score` needs from every row. Outputs along a
        sequence are as long as their batch; zeros are appended to give all the same length.
      shown: the names of the outputs and features that `examples_page` needs from every row beside those of
        `collect`.
      can_pack: whether several texts may share a row of a batch. False if an example has more than one
        sequence that belongs together.
      texts_per_example: how many sequences an example has.
      cuts_long_texts: whether a text that is too long is cut at its end. A program that packs token ids by
        itself, as on phones, then packs them as the model was trained.
      one_text_output: the output of the signature "ids" that answers a text by itself with one row of
        numbers, such as the probabilities of its labels, or its vector; None if there is no such output.
      row_texts: the inputs that make one row of the signature "ids", where its outputs answer them by
        themselves; empty where an answer needs more (words, windows, choices).
      inputs: the inputs of "serving_default" for each example; empty if the task does not answer texts.
      other_inputs: the other signatures that answer texts: name -> the inputs for each example. No two have
        the same inputs, so that the inputs tell what is asked.
      answers: the keys of the dict that `answer` returns for "serving_default".
      chooses: the names of the values that `chosen` returns.
      prediction_files: the names of the files that `write_predictions` writes; empty if it writes none.
      architecture: the class of Hugging Face's library for models of this task, or None.
      problem_type: Hugging Face's `problem_type`, if the same class serves several tasks; else None.
      has_labels: whether each output stands for a label, whose name a checkpoint holds.
      pooling: the `PoolingConfig` by which the task makes one vector of a text; None if it does not.
      coupled: the names of the outputs and features that the losses need from the rows of all replicas. In a
        step on several replicas `outputs` also has `ALL_REPLICAS`, see kbert/training/coupled_rows.py.
    """

    name: str
    config_class: type = FinetuningConfig
    settings_class: type = NoSettings
    row_settings: tuple[str, ...] = ()
    best_metric: str = "loss"
    collected: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    can_pack: bool = True
    texts_per_example: int = 1
    cuts_long_texts: bool = True
    one_text_output: str | None = None
    row_texts: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    other_inputs: dict[str, tuple[str, ...]] = {}
    answers: tuple[str, ...] = ()
    chooses: tuple[str, ...] = ()
    prediction_files: tuple[str, ...] = ()
    architecture: str | None = None
    problem_type: str | None = None
    has_labels: bool = False
    pooling: PoolingConfig | None = None
    coupled: tuple[str, ...] = ()

    def get_config(self) -> dict:
        """The arguments of the constructor, ready for JSON. A run records them to make the task again."""
        return {}

    @classmethod
    def read_settings(cls, values: dict, where: str = "task_settings"):
        """The `task_settings` of a config as a `settings_class`.

        Raises:
          ValueError: naming `where` and the key, for settings that the task does not have or allow.
        """
        if values and cls.settings_class is NoSettings:
            raise ValueError(
                f"{where}: {cls.name} has no settings, received {', '.join(values)}; remove them."
            )
        return from_dict(cls.settings_class, values, where)

    @classmethod
    def of_dataset(cls, dataset: DatasetConfig, settings=None) -> "Task":
        """The task of a complete `DatasetConfig`.

        Args:
          dataset: what the examples are.
          settings: a `settings_class`; None takes its defaults.
        """
        return cls()

    @classmethod
    def of_labels(cls, labels: tuple[str, ...]) -> "Task":
        """The task for a checkpoint with these labels (empty for none)."""
        return cls.of_dataset(DatasetConfig(labels=labels))

    def with_pooling(self, pooling: PoolingConfig | None) -> "Task":
        """The task that starts from a checkpoint which makes vectors of texts in this way (None: in no way).

        What the task's settings say stays. By default the task itself.
        """
        return self

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that the model has on top of the encoder's layers: pooler and heads."""
        raise NotImplementedError

    def for_training(self, count_labels: Callable[[], tuple[Mapping[str, int], int]]) -> "Task":
        """The task with what its settings leave to the training data; by default itself.

        Args:
          count_labels: function without arguments to (label -> how often the training data have it, number of
            their examples).
        """
        return self


def reads_files(task_class: type[Task]) -> bool:
    """Whether a kind of task is trained on files of labelled examples."""
    return any("read_examples" in vars(one) for one in task_class.__mro__ if one is not DataOfTask)


def near(numbers, expected, tolerance: float = 0.05) -> np.ndarray:
    """Which numbers are as good as equal, bool array: `tolerance` apart, or that share of the larger ones.

    Two answers that are numbers are never bit for bit the same; this is what `Task.same_answers` calls the
    same, of a score from 0 to 5 as of a probability.
    """
    numbers, expected = np.asarray(numbers, np.float64), np.asarray(expected, np.float64)
    return np.abs(numbers - expected) <= tolerance * np.maximum(1.0, np.abs(expected))


def example_weights(batch):
    """float32 tensor of shape (batch,): 1 for real examples, 0 for those that only fill the last batch."""
    if EXAMPLE_WEIGHTS in batch:
        return batch[EXAMPLE_WEIGHTS]
    return ops.ones(ops.shape(batch["input_ids"])[:1], dtype="float32")


def cross_entropies(logits, labels):
    """Cross-entropy of each element, float32 of shape (...); logits (..., classes), int labels (...)."""
    flat = ops.reshape(ops.cast(logits, "float32"), (-1, ops.shape(logits)[-1]))
    losses = cross_entropy(flat, ops.reshape(ops.cast(labels, "int32"), (-1,)))
    return ops.reshape(losses, ops.shape(labels))


def correct(logits, labels, share_ties: bool = True):
    """float32: how right it is to choose the largest logit; 1.0 for that of the label, 0.0 for any other.

    Where several are the largest, one of n counts 1 / n, as if it were drawn: a model that says the same of
    all classes is as good as guessing, not perfect.

    Args:
      logits: float tensor of shape (..., classes).
      labels: int tensor of shape (...).
      share_ties: False counts 1.0 for each of the largest, which saves a pass over the logits.
    """
    chosen = ops.take_along_axis(logits, ops.expand_dims(ops.cast(labels, "int32"), -1), axis=-1)
    # Argmax is not used, because it is slow on a CPU.
    largest = ops.max(logits, axis=-1, keepdims=True)
    is_largest = ops.cast(chosen[..., 0] >= largest[..., 0], "float32")
    if not share_ties:
        return is_largest
    num_largest = ops.sum(ops.cast(logits >= largest, "float32"), axis=-1)
    return is_largest / ops.maximum(num_largest, 1.0)  # where a logit is NaN, none is the largest
