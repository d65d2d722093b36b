"""The teacher: a checkpoint that is read, never written, and the same whenever a run goes on."""

import hashlib
import json

from kbert.checkpoints import KBERT, model_loading
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.formats import read_checkpoint, require_checkpoint
from kbert.checkpoints.model_variables import model_shapes, part_shapes
from kbert.cli.warn_once import warn_once
from kbert.config import DistillationConfig, EncoderConfig
from kbert.config.changed_settings import changed_settings
from kbert.files.json_values import shown
from kbert.tasks import TASKS


class Teacher:
    """A checkpoint to learn from.

    Args:
      checkpoint: any `BertCheckpoint`.

    Attributes:
      checkpoint: as given.
      encoder: its `EncoderConfig`.
    """

    def __init__(self, checkpoint: BertCheckpoint):
        self.checkpoint = checkpoint
        self.encoder = checkpoint.encoder

    @property
    def digest(self) -> str:
        """A short digest of its content, wherever and in which format it lies: shape, labels, vocabulary and
        every number. A setting that a later kbert adds does not change it."""
        checkpoint, digest = self.checkpoint, hashlib.sha256()
        shape, vocabulary = changed_settings(checkpoint.encoder), checkpoint.vocabulary.fingerprint
        facts = [shape, list(checkpoint.labels), vocabulary]
        digest.update(json.dumps(facts, sort_keys=True).encode())
        for name in sorted(checkpoint.tensors):
            digest.update(name.encode())
            digest.update(checkpoint.tensors[name].read().tobytes())
        return digest.hexdigest()[:16]

    def check_with(self, task, config: DistillationConfig, student: EncoderConfig, vocabulary, max_length):
        """Refuses a student that cannot learn from this teacher.

        Args:
          task: the student's `Task`.
          config: what it is to learn.
          student: its encoder.
          vocabulary: its `Vocabulary`.
          max_length: the longest sequence of the training.

        Raises:
          ValueError: for another vocabulary, task, labels or number of texts, a layer that the teacher lacks,
            or sequences too long for it.
        """
        self.require_vocabulary(vocabulary)
        source = self.checkpoint.source
        if max_length > self.encoder.max_position_embeddings:
            raise ValueError(
                f"max_seq_length={max_length} is more than the max_position_embeddings="
                f"{self.encoder.max_position_embeddings} of the teacher {source}."
            )
        if not task.learns_from_teacher:
            raise ValueError(
                f"the task {task.name} draws tokens, and a teacher would read others than its student; leave "
                "[distillation] out, or choose another task."
            )
        self._warn_of_prompts(task)
        if config.soft_label_weight:
            self._require_predictions(task)

    def _warn_of_prompts(self, task):
        if task.pooling is None:  # no vectors of texts
            return
        theirs, own = map(_prompts, (self.checkpoint.pooling, task.pooling))
        if theirs != own:
            warn_once(
                f"the teacher {self.checkpoint.source} has the prompts {shown(theirs)}, the student "
                f"{shown(own)}, and both read the texts with the student's: the teacher reads others than it "
                "was made for. Give the student's checkpoint the teacher's (docs/checkpoints.md)."
            )

    def require_vocabulary(self, vocabulary):
        """Raises ValueError for a student's `Vocabulary` that is not the teacher's."""
        source, own = self.checkpoint.source, self.checkpoint.vocabulary
        if vocabulary.fingerprint != own.fingerprint:
            raise ValueError(
                f"the student's vocabulary ({len(vocabulary)} tokens, {vocabulary.fingerprint}) is not that "
                f"of the teacher {source} ({len(own)} tokens, {own.fingerprint}); give both the same: "
                "kbert convert --vocab_file trims a teacher (docs/distillation.md)."
            )

    def _require_predictions(self, task):
        if task.soft_targets is None:
            raise ValueError(
                f"the task {task.name} has no soft labels: set distillation.soft_label_weight = 0."
            )
        source, checkpoint, labels = self.checkpoint.source, self.checkpoint, getattr(task, "labels", ())
        pairings = {getattr(each, "pairing", None) for each in (TASKS[checkpoint.task], task)} - {None}
        # Other formats call an order of sentences next sentences: their files do not tell them apart.
        is_other_pairing = len(pairings) > 1 and checkpoint.first_format == KBERT
        if checkpoint.problem_type != task.checkpoint.problem_type or is_other_pairing:
            raise ValueError(
                f"the teacher {source} is trained for {checkpoint.task}, the student for {task.name}; give a "
                "teacher for the student's task."
            )
        takes = checkpoint.takes_pairs, getattr(task, "takes_pairs", None)
        if set(takes) == {True, False}:
            theirs, own = ("pairs of texts" if pairs else "single texts" for pairs in takes)
            raise ValueError(
                f"the teacher {source} is trained on {theirs}, the student reads {own}: soft labels would "
                "answer other texts than the teacher knows. Set dataset.text_pair for a student of pairs, "
                "leave it out for one of single texts; or set distillation.soft_label_weight = 0."
            )
        theirs, own = (getattr(c, "activation", None) or "identity" for c in (checkpoint, task))
        if theirs != own:
            raise ValueError(
                f"the teacher {source} gives its number behind the activation {theirs}, the student behind "
                f"{own}: soft labels would be other numbers than the teacher's. Set task_settings.loss="
                '"binary_cross_entropy" for a student with a sigmoid, and "squared_error", from a checkpoint '
                "without a sigmoid, for one without; or distillation.soft_label_weight = 0."
            )
        all_shapes = model_shapes(self.encoder, task)
        for part in task.parts:
            expected = part_shapes(all_shapes, part.name)
            shapes = {name: checkpoint.tensors[name].shape for name in expected if name in checkpoint.tensors}
            if part.has_labels and shapes and sorted(checkpoint.labels) != sorted(labels):
                raise ValueError(
                    f"the teacher {source} has the labels {list(checkpoint.labels)}, the student "
                    f"{list(labels)}; both need the same, in any order."
                    f"{checkpoint.naming_advice(len(labels))}"
                )
            if shapes != expected:
                raise ValueError(
                    f"the teacher {source} has no trained {part.name} as the task {task.name} needs it; "
                    "fine-tune the teacher for this task first, or set distillation.soft_label_weight = 0."
                )

    def load_into(self, model, labels):
        """Sets the weights of a task's model; labels in another order are matched by name."""
        frozen = not model.trainable
        model.trainable = True  # `initialize` sets trainable variables
        model_loading.initialize(model, self.checkpoint, labels)
        model.trainable = not frozen


def _prompts(vectors) -> dict:
    """What stands before a query, a document and any other text, where that is not empty."""
    read = {} if vectors is None else vectors.prompts_of_tasks
    return {kind: prompt for kind, prompt in read.items() if prompt}


def read_teacher(config: DistillationConfig, do_lower_case=None, allow_unmatched=()) -> Teacher:
    """The teacher of a config.

    Args:
      config: names it.
      do_lower_case, allow_unmatched: see `read_checkpoint`.

    Raises:
      ValueError: when no teacher is named, or it cannot be read.
    """
    return Teacher(_read_named(read_checkpoint, config, do_lower_case, allow_unmatched))


def require_teacher(config: DistillationConfig | None):
    """Raises ValueError where a config names a teacher and there is none; names of hubs wait."""
    if config is not None:
        _read_named(require_checkpoint, config)


def _read_named(read, config, *arguments):
    """What a function gives for the teacher's checkpoint."""
    if not config.teacher:
        raise ValueError("distillation needs a teacher: name its checkpoint as distillation.teacher.")
    try:
        return read(config.teacher, *arguments)
    except ValueError as error:
        raise ValueError(f"the teacher cannot be read: {error}") from None


def layer_map(num_student_layers: int, num_teacher_layers: int) -> tuple[int, ...]:
    """The layer of the teacher that each layer of the student imitates, counted from 0.

    They are spread evenly and the last imitates the last: layer m of M takes layer (m + 1) N / M - 1 of N,
    rounded. For 4 of 12 that is 2, 5, 8, 11, TinyBERT's map (arXiv 1909.10351, section 4.1, which counts
    from 1).
    """
    return tuple(
        max(0, round((m + 1) * num_teacher_layers / num_student_layers) - 1)
        for m in range(num_student_layers)
    )
