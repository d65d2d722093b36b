"""The common form of all formats: each is read into a `BertCheckpoint` and written from one."""

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kbert.checkpoints import KBERT
from kbert.checkpoints.model_variables import fresh_value, model_shapes, part_name, task_parts
from kbert.checkpoints.report import Report
from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig
from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig
from kbert.config.vectors_config import VectorsConfig
from kbert.files.stored_tensor import StoredTensor, stored_array
from kbert.heads.parts import POOLER, Part
from kbert.runs.chosen_settings import Chosen
from kbert.tasks import TASKS
from kbert.tokenization.base_vocabulary import BaseVocabulary

if TYPE_CHECKING:
    from kbert.tasks.task import Task


@dataclass(frozen=True)
class RecordedTask:
    """What a run of kbert records of its task, or a config says of it. Other formats have no place for it.

    Args:
      task_config: the arguments of the task's constructor, as `Task.get_config` gives them.
      dataset: how labelled files are read.
      task_settings: those of the config, which records must have been made with.
      best_metric: the config's; None for that of the task.
      eval_batch_size: the config's.
      chosen: what an evaluation chose for this checkpoint; None for nothing.
    """

    task_config: dict
    dataset: DatasetConfig
    task_settings: dict = field(default_factory=dict)
    best_metric: str | None = None
    eval_batch_size: int = FinetuningConfig.eval_batch_size
    chosen: Chosen | None = None

    @property
    def answering_config(self) -> dict:
        """`task_config` with what an evaluation chose: the task that answers."""
        return self.task_config | (self.chosen.settings if self.chosen else {})


@dataclass(frozen=True)
class BertCheckpoint:
    """A BERT model as data: its config, task, vocabulary, and tensors under kbert's own names.

    Args:
      source: the path it was read from.
      encoder: the encoder's shape.
      task: a key of `kbert.tasks.TASKS`.
      labels: label names in id order, for tasks that have labels.
      vocabulary: the tokens with their casing.
      tensors: kbert name -> float32 tensor, read when asked for. A variable of the task's model without a
        tensor here has never been trained.
      max_seq_length: the longest sequence that the source accepts.
      takes_pairs: whether the task is about pairs of texts; None when the source does not say.
      pooling: how the source makes vectors of texts, such as a `PoolingConfig`; None when it does not say.
      activation: how a cross-encoder makes a score of its output, see `SequenceRegression`; None when the
        source does not say it.
      report: what became of each tensor and setting in the reading.
      recorded: the settings of the task and the columns of its files; None when the source does not say them.
      converted_from: of a run that was converted and never trained: the format of others that it came in.
      trained_positions: as that of a `RunDirectory`.
      trained: how run.json tells the examples again that the weights were trained on, those that were held
        out, and where the training began.
      drawn: of the config of that training `dev_split`, `dev_split_seed` and `max_train_examples`.
      is_numbered: whether the source names no labels, so that they are 0, 1 ... here.
    """

    source: str
    encoder: EncoderConfig
    task: str
    labels: tuple[str, ...]
    vocabulary: BaseVocabulary
    tensors: dict[str, StoredTensor]
    max_seq_length: int
    report: Report
    takes_pairs: bool | None = None
    pooling: VectorsConfig | None = None
    recorded: RecordedTask | None = None
    activation: str | None = None
    converted_from: str | None = None
    trained_positions: int | None = None
    trained: dict = field(default_factory=dict)
    drawn: dict = field(default_factory=dict)
    is_numbered: bool = False

    @property
    def first_format(self) -> str:
        """The format in which the model came to kbert."""
        return self.converted_from or self.report.format

    @property
    def has_numbers_for_labels(self) -> bool:
        """Whether the labels only number the classes, as transformers does by default, and Google's files."""
        numbers = range(len(self.labels))
        return self.labels in (tuple(map("LABEL_{}".format, numbers)), tuple(map(str, numbers)))

    def naming_advice(self, num_labels: int) -> str:
        """How classes of another library that only have numbers get names, for errors about so many labels;
        empty where they have names, or another number."""
        is_run = self.report.format == KBERT
        if is_run or not self.has_numbers_for_labels or len(self.labels) != num_labels:
            return ""
        return (
            f" {self.source} only numbers its classes: kbert convert --config names them, by the labels of "
            "the config's [dataset] in their order."
        )

    @property
    def model_task(self) -> "Task":
        """The task whose model it is."""
        if self.recorded is None and self.pooling is None:
            return TASKS[self.task].from_labels(self.labels)
        return TASKS.recorded({"task": self.task, "task_config": self.known_task.task_config})

    @property
    def parts(self) -> dict[str, Part]:
        """The pooler and heads that the task's model has on top of the encoder's body, by name."""
        return task_parts(self.model_task)

    @property
    def known_task(self) -> RecordedTask:
        """What is recorded; without a record what follows from the labels, with default settings."""
        if self.recorded is not None:
            return self.recorded
        task = TASKS[self.task].from_labels(self.labels).with_pooling(self.pooling)
        task = task.with_activation(self.activation)
        return RecordedTask(
            task.get_config(), DatasetConfig(text_pair="text_pair" if self.takes_pairs else None)
        )

    @property
    def task_record(self) -> dict:
        """What `TASKS.recorded` takes, without what an evaluation chose; with what is known of pairs."""
        pairs = {} if self.takes_pairs is None else {"takes_pairs": self.takes_pairs}
        return {"task": self.task, "task_config": self.known_task.task_config | pairs}

    @property
    def problem_type(self) -> str | None:
        """What the logits mean, see `CheckpointKind`."""
        return TASKS[self.task].checkpoint.problem_type

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every variable of the task's model."""
        return model_shapes(self.encoder, self.model_task)

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of those variables of the task's model that have no tensor."""
        return tuple(name for name in self.shapes if name not in self.tensors)

    def complete(self) -> dict[str, StoredTensor]:
        """A tensor for each variable of the task's model; missing ones get fresh initial values."""
        return {
            name: self.tensors.get(name) or self._fresh(name, shape) for name, shape in self.shapes.items()
        }

    def _fresh(self, name, shape) -> StoredTensor:
        return StoredTensor(
            shape, "float32", lambda: fresh_value(name, shape, self.encoder.initializer_range)
        )

    def with_weights(self, weights: dict[str, np.ndarray]) -> "BertCheckpoint":
        """The same model with all of its weights anew; what is still fresh remains missing.

        Args:
          weights: name -> float32 array, for every variable. Reading a tensor checks that it is finite.
        """
        missing = set(self.missing)
        tensors = {
            name: stored_array(array).as_float32(what=f"{self.source}: {name}")
            for name, array in weights.items()
            if not (name in missing and np.array_equal(array, self._fresh(name, array.shape).read()))
        }
        return dataclasses.replace(self, tensors=tensors)

    def encoder_alone(self) -> "BertCheckpoint":
        """The same encoder without its heads; the report then lists their tensors as left over."""

        def is_kept(name):
            return part_name(name) in ("body", POOLER.name, POOLING_LAYER)

        dropped = [line for line in self.report.taken if not is_kept(line[1])]
        report = dataclasses.replace(
            self.report,
            taken=[line for line in self.report.taken if is_kept(line[1])],
            left_over=[
                *self.report.left_over,
                *((outside, "part of a head; only the encoder was asked for") for outside, _, _ in dropped),
            ],
            not_in_file=[line for line in self.report.not_in_file if is_kept(line[0])],
        )
        encoder = dataclasses.replace(self.encoder, masked_lm_hidden_act=None, masked_lm_layer_norm_eps=None)
        return dataclasses.replace(
            self,
            encoder=encoder,
            task=TASKS.find_by_parts({POOLER.name}),
            labels=(),
            tensors={name: tensor for name, tensor in self.tensors.items() if is_kept(name)},
            report=report,
            takes_pairs=None,
            pooling=self.pooling if isinstance(self.pooling, PoolingConfig) else None,
            recorded=None,
            activation=None,
        )
