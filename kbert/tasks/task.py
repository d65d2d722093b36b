"""The contract between a kind of task and everything that trains, judges, answers and serves it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from kbert.config import DatasetConfig, FinetuningConfig, from_dict
from kbert.features import EXAMPLE_WEIGHTS, Feature
from kbert.heads.parts import Part
from kbert.kernels.cross_entropy import cross_entropy


class ExampleFeatures(NamedTuple):
    """Examples as rows of features.

    Args:
      features: name -> array of shape (rows, *shape of the feature).
      owners: int array of shape (rows,): the place of the example that each row belongs to. An example may
        become several rows, such as the windows of a long text; rows of one example follow each other.
    """

    features: dict[str, np.ndarray]
    owners: np.ndarray


class Predictions(NamedTuple):
    """What a model said of all rows of an evaluation, in their order.

    Args:
      values: name -> array of shape (rows, ...): the outputs and features that `Task.collected` names.
      owners: as in `ExampleFeatures`.
    """

    values: dict[str, np.ndarray]
    owners: np.ndarray


class Signature(NamedTuple):
    """A function that a model is asked through, in Python and in a SavedModel alike.

    Args:
      inputs: name -> (dtype, shape), for example {"text": ("string", (None,))}.
      function: takes tensors by these names; gives a dict of tensors whose first axis is the batch.
    """

    inputs: dict[str, tuple[str, tuple]]
    function: Callable[..., dict]


@dataclass(frozen=True)
class NoSettings:
    """The settings of a task that has none."""


class Task:
    """What a kind of task knows: its examples and features, its model, its scores and its answers.

    Scripts, trainer, evaluation, checkpoints, statistics and exporters speak to a task through these methods
    alone, and never ask which it is. docs/add_a_task.md walks through a whole one.

    Sums and weights are kept apart so that any number of replicas and batches adds up to the same mean: every
    training loss is `loss_sums[name] / loss_weights[name]` over the global batch, and every metric of
    `metric_sums` the quotient of two sums over all batches. What does not add up, such as a rank
    correlation, comes from `score`, which sees the predictions of a whole evaluation.

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
      settings_class: a frozen dataclass of what `task_settings` of a config may say; its `__post_init__`
        checks the values.
      row_settings: the names of those settings that change the rows; records must have been made with the
        same.
      best_metric: what tells the best of several checkpoints, unless a config names another.
      collected: names of outputs and features that `score` needs of every row. Outputs along a sequence
        are as long as their batch; they come with zeros behind, to one length.
      can_pack: whether several texts may share a row of a batch; not where the inputs of an example are more
        than one sequence.
      inputs: what "serving_default" takes for each example; none where the task answers nobody.
      answers: the keys of what `answer` gives.
      chooses: the names of what `chosen` chooses.
      prediction_files: the names of the files that `write_predictions` writes, if it does.
      architecture: the class of Hugging Face's library that this task's models are, or None.
      problem_type: what that library calls the meaning of the logits, where one class has several.
      has_labels: whether the outputs stand for labels, which a checkpoint names.
    """

    name: str
    config_class: type = FinetuningConfig
    settings_class: type = NoSettings
    row_settings: tuple[str, ...] = ()
    best_metric: str = "loss"
    collected: tuple[str, ...] = ()
    can_pack: bool = True
    inputs: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    chooses: tuple[str, ...] = ()
    prediction_files: tuple[str, ...] = ()
    architecture: str | None = None
    problem_type: str | None = None
    has_labels: bool = False

    # ------------------------------------------------------------------------------- itself

    def get_config(self) -> dict:
        """The constructor's arguments, JSON-ready: a run records them, and `TASKS` builds the task again."""
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
    def of_old_run(cls, details: dict, config) -> "Task":
        """The task of a run from before `get_config` was recorded."""
        return cls.of_dataset(config.dataset, cls.read_settings(config.task_settings))

    @classmethod
    def of_labels(cls, labels: tuple[str, ...]) -> "Task":
        """The task of a checkpoint that has these labels, or none."""
        return cls.of_dataset(DatasetConfig(labels=labels))

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the model has on top of the encoder's body: pooler and heads."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------- examples

    @classmethod
    def read_examples(cls, path, dataset: DatasetConfig, with_labels: bool = True) -> Iterator:
        """The examples of a file as picklable tuples, one at a time; their last field is the label.

        Raises:
          ValueError: naming file and line, for whatever does not fit `dataset`.
        """
        raise NotImplementedError

    @classmethod
    def complete_dataset(cls, dataset: DatasetConfig, examples: Iterable) -> DatasetConfig:
        """The dataset with what only the examples know (labels), where it does not say so itself."""
        return dataset

    def features(self, max_seq_length: int) -> dict[str, Feature]:
        """name -> `Feature` of a row, answers included."""
        raise NotImplementedError

    def examples_to_features(self, examples: list, text_inputs) -> ExampleFeatures:
        """Examples -> rows; `text_inputs` tokenizes and packs, to at most its `max_seq_length`."""
        raise NotImplementedError

    def describe(self, row: dict, vocabulary) -> list[str]:
        """A row of features as lines for a person: the tokens, and what the answer is."""
        tokens = (vocabulary.tokens[i] for i in row["input_ids"][row["input_mask"] > 0])
        return [f"example: {' '.join(tokens)}"]

    # ------------------------------------------------------------------------------- model

    def build_model(self, encoder) -> keras.Model:
        """A Keras model from a dict of features to a dict of outputs, on top of `encoder`."""
        raise NotImplementedError

    def loss_weights(self, batch) -> dict:
        """name -> scalar, the weight that a loss of this batch is divided by (before any model runs)."""
        raise NotImplementedError

    def loss_sums(self, outputs, batch) -> dict:
        """name -> scalar, the weighted sum of a loss; the same names as `loss_weights`."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------- scores

    def metric_sums(self, outputs, batch) -> dict:
        """name -> (sum, weight); a weight of 0 asks for the sum itself, which may be an array of counts."""
        return {}

    def summarize(self, means: dict) -> dict:
        """Turns means of losses and metrics into what is reported; by default just that."""
        return means

    def collect(self, outputs, batch) -> dict:
        """What `score` needs of every row of a batch: name -> tensor of shape (rows, ...).

        By default what `collected` names, as it is. A task may make less of it first: the best of many
        numbers takes less memory than all of them.
        """
        return {name: outputs[name] if name in outputs else batch[name] for name in self.collected}

    def score(self, examples: list | None, predictions: Predictions) -> dict:
        """The metrics that do not add up over batches.

        Args:
          examples: those that were evaluated; None where the evaluation read records, which hold features
            alone.
          predictions: what was said of all of their rows.

        Returns:
          name -> float.
        """
        return {}

    def write_predictions(self, examples: list, predictions: Predictions, folder):
        """Writes `prediction_files` into a folder, which is made where it is missing.

        Args:
          examples, predictions: as for `score`.
          folder: where to.
        """
        raise NotImplementedError

    def chosen(self, metrics: dict) -> dict:
        """What an evaluation chooses for the answers to come, such as a threshold.

        Args:
          metrics: those of the evaluation, `score`'s among them.

        Returns:
          name -> value for the names in `chooses`: arguments of the constructor that take the place of
          `get_config`'s.
        """
        return {}

    def higher_is_better(self, metric: str) -> bool:
        """Whether more of a metric is better: of everything but losses."""
        return not metric.endswith("loss")

    def baseline(self, batches: Iterable[dict], vocabulary) -> dict:
        """What the best constant answer would score on these very batches (of arrays)."""
        return {}

    def report(self, metrics: dict) -> str:
        """What a person wants to see of an evaluation beside the numbers, as text; may be empty."""
        return ""

    # ------------------------------------------------------------------------------- answers

    def signatures(self, model, text_inputs) -> dict[str, Signature]:
        """name -> `Signature`: "serving_default" takes text, "ids" what a client has tokenized itself.

        Args:
          model: what `build_model` made.
          text_inputs: the `TextInputs` of the run.

        Raises:
          ValueError: where the task answers nobody.
        """
        raise ValueError(f"a model for {self.name} does not answer texts.")

    def check_inputs(self, inputs: dict):
        """Raises ValueError for an example, given by the names of "serving_default", that has no answer."""

    def answer(self, outputs: dict, inputs: dict) -> dict:
        """One answer in words, JSON-ready.

        Args:
          outputs: what "serving_default" said of one example; strings are bytes.
          inputs: that example.

        Raises:
          ValueError: when the example could not be answered as a whole.
        """
        raise NotImplementedError


def reads_files(task_class: type[Task]) -> bool:
    """Whether a kind of task is trained on files of labelled examples."""
    return any("read_examples" in vars(one) for one in task_class.__mro__ if one is not Task)


def example_weights(batch):
    """float32 tensor of shape (batch,): 1 for real examples, 0 for those that fill the last batch."""
    if EXAMPLE_WEIGHTS in batch:
        return batch[EXAMPLE_WEIGHTS]
    return ops.ones(ops.shape(batch["input_ids"])[:1], dtype="float32")


def cross_entropies(logits, labels):
    """Per-element cross-entropy in float32; logits (..., classes), int labels (...)."""
    flat = ops.reshape(ops.cast(logits, "float32"), (-1, ops.shape(logits)[-1]))
    losses = cross_entropy(flat, ops.reshape(ops.cast(labels, "int32"), (-1,)))
    return ops.reshape(losses, ops.shape(labels))


def correct(logits, labels):
    """1.0 where no logit is larger than the label's, else 0.0."""
    chosen = ops.take_along_axis(logits, ops.expand_dims(ops.cast(labels, "int32"), -1), axis=-1)
    # Not argmax, which is a slow sum of pairs on a CPU.
    return ops.cast(chosen[..., 0] >= ops.max(logits, axis=-1), "float32")
