"""The base class of tasks: the methods that training, evaluation, prediction and serving use."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig, from_dict
from kbert.config.pooling_config import PoolingConfig
from kbert.features import ENCODER_INPUTS, EXAMPLE_WEIGHTS, Feature
from kbert.heads.parts import Part
from kbert.kernels.cross_entropy import cross_entropy
from kbert.tasks.pages.content import Section
from kbert.tasks.signatures.signature import Signature

NUM_TOKENS = "num_tokens"  # see `Task.collect_for_page`

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
      values: name -> array of shape (rows, ...): the outputs and features that `Task.collected` names.
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


# Function from encoder inputs (dict of int32 arrays of shape (rows, length)) and places in them (int array
# of shape (places, 2): row and position) to the outputs of the embeddings and of every layer there: float32
# array of shape (places, num_hidden_layers + 1, hidden_size).
VectorsAt = Callable[[dict, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class NoSettings:
    """The settings of a task that has none."""


class Task:
    """A kind of task: defines its examples and features, its model, its metrics and its answers.

    Scripts, trainer, evaluation, checkpoints, statistics and exporters use a task only through these methods,
    never through its name or class. docs/add_a_task.md explains a complete example.

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
      has_encoder: whether the model has an encoder. False: it reads what a frozen one gave, from records that
        `tfrecords_tools.create_layer_features` makes of texts, and has no variable of an encoder.
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
    has_encoder: bool = True
    coupled: tuple[str, ...] = ()

    # ------------------------------------------------------------------------------- itself

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
    def of_old_run(cls, details: dict, config) -> "Task":
        """The task of an older run, which does not record `get_config`."""
        return cls.of_dataset(config.dataset, cls.read_settings(config.task_settings))

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

    # ------------------------------------------------------------------------------- examples

    @classmethod
    def labels_of(cls, example) -> tuple[str, ...]:
        """The labels of an example, one for each time that it has them; none where a task has no labels."""
        return ()

    @classmethod
    def stratum_of(cls, example) -> str:
        """What a split spreads evenly, such as the label; "" where a task has nothing of that kind."""
        return ""

    @classmethod
    def groups_of(cls, examples: list) -> list[str]:
        """For each example a text; a split keeps examples of equal text together. By default all but the
        label."""
        return [repr(tuple(example)[:-1]) for example in examples]

    @classmethod
    def read_examples(cls, path, dataset: DatasetConfig, with_labels: bool = True) -> Iterator:
        """The examples of a file as picklable tuples, one at a time; their last field is the label.

        Raises:
          ValueError: when a line does not match `dataset`; the message names file and line.
        """
        raise NotImplementedError

    @classmethod
    def complete_dataset(cls, dataset: DatasetConfig, examples: Iterable) -> DatasetConfig:
        """The dataset; if it lists no labels, with the labels found in the examples."""
        return dataset

    def texts_of(self, example) -> tuple[str, ...]:
        """The texts of an example, in order. `row_texts` says how many of them make a row."""
        raise NotImplementedError

    def check_examples(self, examples: list, max_seq_length: int):
        """Raises ValueError for examples or a length that do not fit the task's settings.

        Called before a run is made, so that nothing is left behind.
        """

    def check_training(self, config: FinetuningConfig, examples: list | None):
        """Raises ValueError for a training that the task cannot do, before a run is made.

        Args:
          config: the config.
          examples: the training examples; None when they come from records, which hold only features.
        """

    def texts_apart(self, examples: list) -> list[tuple[str, ...]] | None:
        """For each training example the texts that no other example of its batch may have; None for any."""
        return None

    def features(self, max_seq_length: int) -> dict[str, Feature]:
        """The features of a row, including labels: name -> `Feature`."""
        raise NotImplementedError

    def examples_to_features(self, examples: list, text_inputs) -> ExampleFeatures:
        """Examples -> rows of features; `text_inputs` tokenizes texts and cuts them to `max_seq_length`."""
        raise NotImplementedError

    # What follows is for tasks without an encoder (`has_encoder`).

    def check_encoder(self, encoder: EncoderConfig):
        """Raises ValueError where the settings speak of another encoder than this one."""

    @classmethod
    def complete_settings(cls, values: dict, encoder: EncoderConfig, stored: str) -> dict:
        """The `task_settings` of a config, with what follows from the encoder and from the records.

        Args:
          values: as the config gives them.
          encoder: the encoder whose layers are stored.
          stored: one of `kbert.features.STORED_DTYPES`.

        Raises:
          ValueError: when the config says something else.
        """
        raise NotImplementedError

    def record_features(self, max_seq_length: int) -> dict[str, Feature]:
        """The features that records hold: those of all models that may read them."""
        return self.features(max_seq_length)

    def num_stored_vectors(self, examples: list) -> int:
        """How many vectors of each layer `layer_features` stores."""
        raise NotImplementedError

    def layer_features(self, examples: list, text_inputs, vectors_at: VectorsAt) -> ExampleFeatures:
        """Examples -> rows of features, with outputs of a frozen encoder's layers among them.

        Args:
          examples: the examples.
          text_inputs: as for `examples_to_features`; its `max_seq_length` is that of the rows.
          vectors_at: asks the encoder, see `VectorsAt`.

        Returns:
          Rows. Of a feature with `stored` they hold a list of arrays without padding, see
          `kbert.input_pipelines.records.raw_numbers`.
        """
        raise NotImplementedError

    def describe(self, row: dict, vocabulary) -> list[str]:
        """A row of features as readable lines: the tokens and the right answer."""
        tokens = (vocabulary.tokens[i] for i in row["input_ids"][row["input_mask"] > 0])
        return [f"example: {' '.join(tokens)}"]

    # ------------------------------------------------------------------------------- model

    def build_model(self, encoder) -> keras.Model:
        """A Keras model from a dict of features to a dict of outputs, on top of `encoder`."""
        raise NotImplementedError

    def loss_weights(self, batch) -> dict:
        """name -> scalar: the weight that a loss sum of this batch is divided by. Needs no model outputs."""
        raise NotImplementedError

    def loss_sums(self, outputs, batch) -> dict:
        """name -> scalar: the weighted sum of a loss. The names are those of `loss_weights`."""
        raise NotImplementedError

    def training_loss_weights(self, batch) -> dict:
        """As `loss_weights`, of the losses that training minimises: those of evaluation, by default."""
        return self.loss_weights(batch)

    def training_loss_sums(self, outputs, batch) -> dict:
        """As `loss_sums`, for training: there a loss may weigh labels, or smooth them."""
        return self.loss_sums(outputs, batch)

    def loss_factor(self, name: str) -> float:
        """The factor of a loss in the sum of losses that training minimises; what is logged is without it."""
        return 1.0

    def soft_targets(self, outputs, batch) -> dict[str, tuple[SoftTarget, ...]]:
        """loss name -> the logits behind it, so that a teacher can take the place of the labels."""
        return {}

    def is_training_only(self, name: str) -> bool:
        """Whether a trained variable is needed by the training alone: it is no part of the model's weights,
        and a checkpoint keeps it beside the optimizer's."""
        return False

    # ------------------------------------------------------------------------------- scores

    def metric_sums(self, outputs, batch) -> dict:
        """name -> (sum, weight). With weight 0 the sum itself is reported; it may be an array of counts."""
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

    def score(self, examples: list | None, predictions: Predictions) -> dict:
        """The metrics that cannot be computed from sums over batches.

        Args:
          examples: the evaluated examples; None when the evaluation read records, which hold only features.
          predictions: the predictions for all rows of the evaluation.

        Returns:
          name -> float.
        """
        return {}

    def collect_for_page(self, outputs, batch) -> dict:
        """What `examples_page` needs of every row of a batch, and all that `collect` gives.

        Adds what `shown` names, and `num_tokens`, int32 of shape (rows,): how many tokens the row has, in the
        longest of its sequences if it has several.
        """
        rows = {name: outputs[name] if name in outputs else batch[name] for name in self.shown}
        tokens = ops.sum(ops.cast(ops.not_equal(batch["input_mask"], 0), "int32"), axis=-1)
        while len(tokens.shape) > 1:
            tokens = ops.max(tokens, axis=-1)
        return self.collect(outputs, batch) | rows | {NUM_TOKENS: tokens}

    def metrics_page(self, metrics: dict) -> list[Section]:
        """What a page shows of the metrics of an evaluation, beside their numbers; a confusion matrix, say.

        Args:
          metrics: as an evaluation reports them, `score`'s among them.
        """
        return []

    def examples_page(
        self, examples: list | None, predictions: Predictions, most_examples: int
    ) -> list[Section]:
        """What a page shows of the answers to the examples of an evaluation, such as the worst errors.

        Args:
          examples: as for `score`; None when the evaluation read records, which hold no texts.
          predictions: as for `score`, with the values of `collect_for_page`.
          most_examples: the largest number of examples to show.
        """
        return []

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
        """Whether higher values of a metric are better: true for everything except losses and errors."""
        return not metric.endswith(("loss", "error"))

    def baseline(self, batches: Iterable[dict], vocabulary) -> dict:
        """The scores of the best constant answer on these batches (dicts of arrays): name -> float or str."""
        return {}

    def report(self, metrics: dict) -> str:
        """A text to print after an evaluation, for example a confusion table; may be empty."""
        return ""

    # ------------------------------------------------------------------------------- answers

    def signatures(self, model, text_inputs) -> dict[str, Signature]:
        """name -> `Signature`: "serving_default" takes texts, "ids" takes texts that are already tokenized.

        Signatures that take texts have an output `TRUNCATED` among theirs. Those for Classify and Regress
        (kbert/tasks/signatures/example_signature.py) have not: a server allows them no other output.

        Args:
          model: the model that `build_model` returned, or its `answering_model`.
          text_inputs: the `TextInputs` of the run.

        Raises:
          ValueError: when the task does not answer texts.
        """
        raise ValueError(f"a model for {self.name} does not answer texts.")

    def signature_for(self, inputs: Iterable[str]) -> str:
        """The name of the signature that answers examples with these inputs.

        Raises:
          ValueError: when there is none; the message says which inputs there may be.
        """
        known = {"serving_default": self.inputs} | self.other_inputs
        for name, expected in known.items():
            if set(expected) == set(inputs):
                return name
        choices = ", or ".join(" and ".join(expected) for expected in known.values())
        raise ValueError(f"expects {choices}, but received {' and '.join(inputs) or 'nothing'}.")

    def check_inputs(self, inputs: dict):
        """Raises ValueError for an example without an answer.

        Args:
          inputs: the inputs of "serving_default" or of another signature that answers texts.
        """

    def outputs_of_ids(self, answer: Callable[[dict], dict], batch: dict) -> dict:
        """The outputs of the model for a batch, from something that answers as the signature "ids" does.

        A file on a phone is such a thing: what `metric_sums`, `collect` and `score` say of these outputs is
        how good it is. By default they are the outputs of the signature, asked with the rows of the batch.

        Args:
          answer: function from a dict of `input_ids`, `input_mask` and `segment_ids`, arrays as the signature
            takes them, to a dict of its float32 outputs.
          batch: a batch of features, as arrays.
        """
        return answer({name: batch[name] for name in ENCODER_INPUTS})

    def same_answers(self, outputs: dict, expected: dict, batch: dict) -> np.ndarray:
        """Which answers are the same: bool array of shape (answers,).

        Args:
          outputs, expected: two outputs of the model for the same batch, from `outputs_of_ids`.
          batch: the batch of features, as arrays; it may have no labels.
        """
        raise NotImplementedError

    def cosines(self, outputs: dict, expected: dict) -> np.ndarray | None:
        """Where the answers are vectors of texts, the cosine of each with the expected one.

        Args:
          outputs, expected: as for `same_answers`.

        Returns:
          float32 (answers,), in the order of `same_answers`; None where the answers are no vectors.
        """
        return None

    def answer(self, outputs: dict, inputs: dict) -> dict:
        """The answer to one example as a dict, ready for JSON.

        Args:
          outputs: the outputs for this example of the signature that its inputs belong to; strings are
            bytes.
          inputs: the example.

        Raises:
          ValueError: when only a part of the example could be answered, for example because it was cut.
        """
        raise NotImplementedError


def reads_files(task_class: type[Task]) -> bool:
    """Whether a kind of task is trained on files of labelled examples."""
    return any("read_examples" in vars(one) for one in task_class.__mro__ if one is not Task)


def require_reads_texts(task_class: type[Task], path):
    """Raises ValueError for a file of texts that is given to a task on stored features."""
    if not task_class.has_encoder:
        raise ValueError(
            f"{path}: a model for {task_class.name} reads stored features, no texts. Make records of it "
            "with python -m tfrecords_tools.create_layer_features, and give their folder: --train_dir, "
            "--dev_dir, or --input_dir of run_evaluation."
        )


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


def correct(logits, labels):
    """float32: 1.0 where no logit is larger than that of the label, else 0.0."""
    chosen = ops.take_along_axis(logits, ops.expand_dims(ops.cast(labels, "int32"), -1), axis=-1)
    # Argmax is not used, because it is slow on a CPU.
    return ops.cast(chosen[..., 0] >= ops.max(logits, axis=-1), "float32")
