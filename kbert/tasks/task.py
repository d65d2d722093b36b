"""The base class of tasks: what training and evaluation need of every task, and its optional parts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig, from_dict, to_dict
from kbert.config.vectors_config import VectorsConfig
from kbert.features import Feature
from kbert.heads.parts import Part
from kbert.late_tensorflow import keras, ops
from kbert.tasks import variable_shapes
from kbert.tasks.files import Files
from kbert.tasks.label_losses import BALANCED
from kbert.tasks.losses import example_weights
from kbert.tasks.pages.page import Page
from kbert.tasks.serving import Serving
from kbert.tasks.text_vectors import TextVectors

ALL_REPLICAS = "all_replicas"  # in the outputs of a step: rows of all replicas, see `Task.coupled`


class ExampleFeatures(NamedTuple):
    """Examples as rows of features.

    Args:
      features: name -> array of shape (rows, *shape of the feature).
      owners: int array of shape (rows,): the index of the example that each row belongs to. An example may
        become several rows, for example the windows of a long text; they are consecutive rows.
    """

    features: dict[str, np.ndarray]
    owners: np.ndarray


class Predictions(NamedTuple):
    """The predictions of a model for all rows of an evaluation, in the order of the rows.

    Args:
      values: name -> array of shape (rows, ...): the outputs and features that `Task.collect` gives.
      owners: as in `ExampleFeatures`.
    """

    values: dict[str, np.ndarray]
    owners: np.ndarray


class SoftTarget(NamedTuple):
    """The logits that a loss is computed from: what a student may learn from a teacher instead of labels.

    Args:
      logits: float32 tensor of shape (..., classes), or (...) for numbers.
      weights: float32 tensor that broadcasts to (...), or for independent logits to (..., classes): the
        weights that the loss itself gives. Their sum is the loss's `loss_weights` times `share`.
      kind: "softmax", one class of several; "sigmoid", each class for itself; "number", no probability.
      share: the factor of this target in its loss, 1/2 where a loss is the mean of two.
    """

    logits: Any
    weights: Any
    kind: str = "softmax"
    share: float = 1.0


@dataclass(frozen=True)
class CheckpointKind:
    """What published checkpoints of a task are.

    Args:
      architecture: the class of Hugging Face's library for its models; None where there is none.
      problem_type: Hugging Face's `problem_type`, if the same class serves several tasks.
      has_labels: whether each output stands for a label, whose name a checkpoint holds.
    """

    architecture: str | None = None
    problem_type: str | None = None
    has_labels: bool = False


@dataclass(frozen=True)
class NoSettings:
    """The settings of a task that has none."""


class Task:
    """A kind of task: defines its features, its model, its losses and its metrics.

    Scripts, trainer, evaluation, checkpoints and exporters use a task only through its methods, never through
    its name or class. What not every task has is a part of it, or None: `files`, `serving`, `page`,
    `soft_targets`, `write_predictions`. Whoever needs a part asks whether the task has it.
    docs/add_a_task.md has a complete example.

    Sums and weights are separate, so that the mean does not depend on the number of replicas and batches:
    every training loss is `loss_sums[name] / loss_weights[name]` over the global batch, and every metric of
    `metric_sums` is the quotient of two sums over all batches. A metric that is not such a quotient, for
    example a rank correlation, comes from `score`, which receives the predictions of the whole evaluation.

    Example, a regression without its data:
      >>> import numpy as np
      >>> from keras import ops
      >>> from kbert import Task
      >>> from kbert.tasks.losses import example_sum
      >>> class Regression(Task):
      ...     name = "my_regression"
      ...     def build_model(self, encoder): ...  # -> keras.Model with an output "prediction"
      ...     def loss_sums(self, outputs, batch, training=False):
      ...         return {"loss": example_sum(ops.square(outputs["prediction"] - batch["targets"]), batch)}
      >>> batch = {"input_ids": np.zeros((2, 7), "int32"), "targets": np.array([1.0, 2.0], "float32")}
      >>> outputs = {"prediction": np.array([1.5, 2.0], "float32")}
      >>> task = Regression()
      >>> float(task.loss_sums(outputs, batch)["loss"] / task.loss_weights(batch)["loss"])
      0.125

    Args:
      settings: those of the `settings_class`, by name. A task may take more arguments, such as its labels.

    Attributes:
      settings: a `settings_class`.
      name: the task's key in `TASKS`.
      config_class: the config that trains it.
      settings_class: a frozen dataclass with the `task_settings` that a config may give; its `__post_init__`
        checks the values.
      row_settings: the names of the settings that change the rows; records must have been made with the same
        values.
      label_range: the smallest and the largest number that a label may be; None for any.
      not_in_answers: the names of the settings that no answer depends on, or that show in the variables of
        the model. Any other one is refused, unless it has its default, where a checkpoint is written in a
        format of others, which have no place for it.
      loss_settings: the names of the settings that only the task's own losses in training read, not those of
        evaluations.
      best_metric: the metric that decides which checkpoint is the best, unless a config names another one.
      best_metric_of_records: that of evaluations on records, where the other one needs the texts.
      no_scores: how the names of metrics end of which neither more nor less is better, such as thresholds and
        counts: none of these is a `best_metric`.
      percent_scores: how the names of metrics end that are in percent, as an official script gives them.
      collected: the names of the outputs and features that `score` needs from every row. Outputs along a
        sequence are as long as their batch; zeros are appended to give all the same length.
      chooses: the names of the values that `chosen` returns.
      can_pack: whether several texts may share a row of a batch. False if an example has more than one
        sequence that belongs together.
      can_record: whether records can hold its rows. False if the model says more of its texts than settings
        and prompts do: records know no model.
      reads_unattended: whether it needs vectors of tokens that nobody attends to, which a model for answers
        does not compute.
      texts_per_example: how many sequences an example has.
      coupled: the names of the outputs and features that the losses need from the rows of all replicas. In a
        step on several replicas `outputs` also has `ALL_REPLICAS`, see kbert/training/coupled_rows.py.
      vectors_class: the config of its vectors of texts, such as `PoolingConfig`; None if it makes none.
      pooling: that config, by which the task makes vectors of texts; None if it does not.
      checkpoint: what its published checkpoints are.
      parts: the parts that the model has on top of the encoder's layers: pooler and heads. A training
        compares their names with the model's.
      files: how its labelled files are read; None for tasks that are not trained on any.
      serving_class: how it answers texts; None if it does not. `serving` is one of them.
      text_vectors_class: how it answers `embed`, where a text gets more than a row of numbers; None if not.
        `text_vectors` is one of them.
      page_class: what the page of an evaluation shows of it beside its metrics; None for nothing. `page` is
        one of them.
      learns_from_teacher: whether a teacher that is given the same batch reads the same tokens.
      soft_targets: method from (outputs, batch) to loss name -> a tuple of `SoftTarget`s, the logits behind
        it, so that a teacher can take the place of the labels; None where there are none.
      write_predictions: method of (examples, predictions, folder) that writes the answers to a file in a
        format of others; the folder is made where it is missing. None where there is no such format.
    """

    name: str
    config_class: type = FinetuningConfig
    settings_class: type = NoSettings
    settings: Any = NoSettings()  # of tasks that have a constructor of their own and no settings
    loss: Any
    row_settings: tuple[str, ...] = ()
    label_range: tuple[float, float] | None = None
    not_in_answers: tuple[str, ...] = ()
    loss_settings: tuple[str, ...] = ()
    best_metric: str = "loss"
    best_metric_of_records: str | None = None
    no_scores: tuple[str, ...] = ()
    percent_scores: tuple[str, ...] = ()
    collected: tuple[str, ...] = ()
    chooses: tuple[str, ...] = ()
    can_pack: bool = True
    can_record: bool = True
    reads_unattended: bool = False
    texts_per_example: int = 1
    coupled: tuple[str, ...] = ()
    vectors_class: type[VectorsConfig] | None = None
    pooling: Any = None
    checkpoint: CheckpointKind = CheckpointKind()
    parts: tuple[Part, ...] = ()

    files: Files | None = None
    serving_class: type[Serving] | None = None
    text_vectors_class: type[TextVectors] | None = None
    page_class: type[Page] | None = None
    soft_targets: Callable[[dict, dict], dict[str, tuple[SoftTarget, ...]]] | None = None
    learns_from_teacher = True
    write_predictions: Callable[[list, Predictions, Any], None] | None = None

    @property
    def serving(self) -> Any:
        """A `Serving`, or None."""
        return self.serving_class and self.serving_class(self)

    @property
    def text_vectors(self) -> Any:
        """A `TextVectors`, or None."""
        return self.text_vectors_class and self.text_vectors_class(self)

    @property
    def page(self) -> Any:
        """A `Page`, or None."""
        return self.page_class and self.page_class(self)

    @property
    def default_prompt(self) -> str:
        """What stands before every text of a model of vectors; "" for nothing."""
        return "" if self.pooling is None else self.pooling.prompt()

    @property
    def prompts(self) -> list[str]:
        """What stands before each text of an example."""
        return [self.default_prompt] * self.texts_per_example

    def prompts_before(self, example, prompts: list[str]) -> list[str]:
        """`prompts`, which are the task's own, or what stands before the texts of this example instead."""
        return prompts

    # ------------------------------------------------------------------------------- the task itself

    def __init__(self, **settings):
        self.settings = self.settings_class(**settings)

    def get_config(self) -> dict:
        """The arguments of the constructor, ready for JSON. A run records them to make the task again."""
        return to_dict(self.settings)

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
    def settings_at(cls, settings, max_seq_length: int):
        """The settings at a length, with numbers for defaults that follow it; by default as they are."""
        del max_seq_length
        return settings

    @classmethod
    def require_settings_read(cls, settings):
        """Raises ValueError for `task_settings` that no new training reads; by default all are read."""
        del settings

    @classmethod
    def from_dataset(cls, dataset: DatasetConfig, settings=None, labels_of=None) -> "Task":
        """The task of a complete `DatasetConfig`.

        Args:
          dataset: what the examples are.
          settings: a `settings_class`; None takes its defaults.
          labels_of: the file that the labels were found in, for errors; None where a config lists them.
        """
        try:
            return cls(**cls.dataset_arguments(dataset), **asdict(settings or cls.settings_class()))
        except ValueError as error:
            if labels_of is None or not dataset.labels:
                raise
            raise ValueError(f"{error} The labels are those of {labels_of}.") from None

    @classmethod
    def dataset_arguments(cls, dataset: DatasetConfig) -> dict:
        """The arguments of the constructor that a complete `DatasetConfig` says; by default none."""
        return {}

    @classmethod
    def from_labels(cls, labels: tuple[str, ...]) -> "Task":
        """The task for a checkpoint with these labels (empty for none)."""
        return cls.from_dataset(DatasetConfig(labels=labels))

    def with_pooling(self, pooling: VectorsConfig | None) -> "Task":
        """The task that starts from a checkpoint which makes vectors of texts in this way (None: in no way).

        What the task's settings say stays. By default the task itself.
        """
        return self

    def with_activation(self, activation: str | None) -> "Task":
        """The task of a checkpoint that makes a score of its output in this way, see `SequenceRegression`.

        By default the task itself.
        """
        return self

    def for_training(self, count_labels: Callable[[], tuple[Mapping[str, int], int]]) -> "Task":
        """The task with what its settings leave to the training data: numbers in the place of
        `class_weights="balanced"`.

        Args:
          count_labels: function without arguments to (label -> how often the training data have it, number of
            their examples).
        """
        settings = getattr(self, "settings", None)  # a user's task may have none
        if getattr(settings, "class_weights", None) != BALANCED:
            return self
        weights = self.loss.balanced_weights(*count_labels())
        return type(self)(**self.get_config() | {"class_weights": weights})

    # ------------------------------------------------------------------------------- examples

    def check_examples(self, examples: list, max_seq_length: int):
        """Raises ValueError for examples or a length that do not fit the task's settings.

        Called before a run is made, so that nothing is left behind; and where records are made, with a part
        of the examples at a time.
        """

    def check_training(self, config: FinetuningConfig, examples: list | None):
        """Raises ValueError for a training that the task cannot do, before a run is made.

        Args:
          config: the config.
          examples: the training examples; None when they come from records, which hold only features.
        """

    @classmethod
    def is_score(cls, metric: str) -> bool:
        """Whether a metric says how good a model is; see `higher_is_better`."""
        return not metric.endswith(cls.no_scores)

    def check_metric(self, metric: str, examples: list):
        """Raises ValueError where an evaluation on these examples does not give the `best_metric`.

        Called before a run is made: at the first evaluation a long training may be over.
        """

    def features(self, max_seq_length: int) -> dict[str, Feature]:
        """The features of a row, including labels: name -> `Feature`; -1 in a shape is any number."""
        raise NotImplementedError

    def row_length(self, max_seq_length: int) -> int:
        """The tokens of a row in a model of this length: more where texts have lengths of their own."""
        return self.features(max_seq_length)["input_ids"].shape[-1]

    def one_row_reader(self, text_inputs):
        """What makes one row of each text, with the `rows` of `TextInputs`; of texts that the task reads in
        several the first."""
        return text_inputs

    def examples_to_features(self, examples: list, text_inputs) -> ExampleFeatures:
        """Examples -> rows of features; `text_inputs` tokenizes texts and cuts them to `max_seq_length`."""
        raise NotImplementedError

    def describe(self, row: dict, vocabulary) -> list[str]:
        """A row of features as readable lines: the tokens and the right answer."""
        tokens = (vocabulary.tokens[i] for i in row["input_ids"][row["input_mask"] > 0])
        return [f"example: {' '.join(tokens)}"]

    # ------------------------------------------------------------------------------- model and losses

    def empty_model(self, config: EncoderConfig, dtype="float32") -> "keras.Model":
        """The task's model on a new encoder, of zeros: weights are read next. `dtype` is a Keras policy."""
        return variable_shapes.empty_model(self, config, dtype)

    def build_model(self, encoder) -> "keras.Model":
        """A Keras model from a dict of features to a dict of outputs, on top of `encoder`."""
        raise NotImplementedError

    def variable_shapes(self, config: EncoderConfig) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every trained variable of its model on such an encoder, and of the pooler."""
        return variable_shapes.variable_shapes(self, config)

    def loss_weights(self, batch, training: bool = False) -> dict:
        """name -> scalar: the weight that a loss sum of this batch is divided by. Needs no model outputs.

        By default the number of examples, of a loss that is called "loss".

        Args:
          batch: a batch of features.
          training: whether these are the losses that training minimises: there a loss may weigh labels.
        """
        return {"loss": ops.sum(example_weights(batch))}

    def loss_sums(self, outputs, batch, training: bool = False) -> dict:
        """name -> scalar: the weighted sum of a loss. The names are those of `loss_weights`."""
        raise NotImplementedError

    def loss_factor(self, name: str, progress=1.0):
        """The factor of a loss in the sum of losses that training minimises; what is logged is without it.

        Args:
          name: of the loss.
          progress: the share of the training's steps that are done, a number or a scalar tensor.
        """
        return 1.0

    def is_training_only(self, name: str) -> bool:
        """Whether a trained variable is needed by the training alone: it is no part of the model's weights,
        and a checkpoint keeps it beside the optimizer's."""
        return False

    # ------------------------------------------------------------------------------- metrics

    def metric_sums(self, outputs, batch) -> dict:
        """name -> (sum, weight). With weight 0 the sum itself is reported; it may be an array of counts."""
        return {}

    def label_masks(self, labels: dict, batch) -> dict:
        """Output -> which of its labels count in Keras's metrics, boolean; of an output without a mask all.

        Args:
          labels: output -> its labels.
          batch: inputs, and the labels under the task's names where they are given so.
        """
        return {}

    def summarize(self, means: dict) -> dict:
        """Turns the means of losses and metrics into the metrics to report; by default unchanged."""
        return means

    def collect(self, outputs, batch) -> dict:
        """What `score` needs of every row of a batch: name -> tensor of shape (rows, ...).

        By default what `collected` names, as it is. A task may make less of it first: the best of many
        numbers takes less memory than all of them.
        """
        return {name: outputs[name] if name in outputs else batch[name] for name in self.collected}

    def keep(self, rows: dict) -> dict:
        """What is kept of the rows of a batch until `score`, from what `collect` gave of them, as arrays.

        By default all; a task may make less memory of them. Arrays of objects have one axis.
        """
        return rows

    def score(self, examples: list | None, predictions: Predictions) -> dict:
        """The metrics that cannot be computed from sums over batches: name -> float.

        Args:
          examples: the evaluated examples; None when the evaluation read records, which hold only features.
          predictions: the predictions for all rows of the evaluation.
        """
        return {}

    def chosen(self, metrics: dict) -> dict:
        """What an evaluation chooses for the answers to come, such as a threshold.

        Args:
          metrics: those of the evaluation, `score`'s among them.

        Returns:
          name -> value for the names in `chooses`: arguments of the constructor that take the place of
          `get_config`'s.
        """
        return {}

    @classmethod
    def higher_is_better(cls, metric: str) -> bool:
        """Whether higher values of a score are better: true for everything except losses and errors."""
        return not metric.endswith(("loss", "error"))

    def baseline(self, batches: Iterable[dict], vocabulary) -> dict:
        """The scores of the best constant answer on these batches (dicts of arrays): name -> float or str."""
        return {}

    def report(self, metrics: dict) -> list[list[str]]:
        """A table for the terminal after an evaluation, such as scores by label; the row of heads first."""
        return []
