"""What other formats have no place for and answers depend on: settings of a task, and how vectors are made.

A temperature becomes a part of the last layer. All else is refused by name, unless it is the default.
"""

import dataclasses
from dataclasses import asdict

from kbert.checkpoints import GOOGLE, HUGGING_FACE, KERAS_HUB
from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.report import Report
from kbert.config.pooling_config import PoolingConfig
from kbert.files.json_values import shown
from kbert.files.stored_tensor import StoredTensor
from kbert.heads.parts import NO_HEADS
from kbert.tasks import TASKS

TASK_SETTINGS = "task_settings"
_TEMPERATURE = "temperature"


def for_other_code(checkpoint: BertCheckpoint, report: Report) -> BertCheckpoint:
    """The checkpoint to write for code that knows no settings of kbert's tasks; it gives the same answers.

    Args:
      checkpoint: the model.
      report: of a writing in another format than kbert's. What the user may allow to be lost:
        `task_settings`, `task`; for Google `problem_type`; in formats other than Hugging Face's
        `activation_fn`, `prompts`, `pooling`.

    Raises:
      ValueError: unless allowed, for what the format cannot hold and the answers depend on.
    """
    _require_same_meaning(checkpoint, report)
    if report.format != HUGGING_FACE:
        _require_no_activation(checkpoint, report)
        _require_usual_vectors(checkpoint, report)
    checkpoint = _with_temperature_in_head(checkpoint, report)
    _require_default_settings(checkpoint, report)
    _note_positive_label(checkpoint, report)
    _warn_of_positions(checkpoint, report)
    return checkpoint


def _require_same_meaning(checkpoint, report):
    """Refuses a head that would be read as that of another task: its numbers would mean something else."""
    kind, has_head = TASKS[checkpoint.task].checkpoint, bool(checkpoint.parts.keys() - NO_HEADS)
    if report.format == GOOGLE and kind.problem_type:
        report.conflict(
            "problem_type",
            f"{checkpoint.source} is a model of {kind.problem_type}, but the original's code takes a softmax "
            "over all outputs and would give other numbers",
        )
    read_as = TASKS.find_by_architecture(kind.architecture, kind.problem_type)
    says_vectors = report.format == HUGGING_FACE and checkpoint.pooling is not None
    if (
        has_head
        and not says_vectors
        and read_as not in (None, checkpoint.task)
        and report.format != KERAS_HUB
    ):
        report.conflict(
            "task",
            f"{checkpoint.source} is a model of {checkpoint.task}, but {report.format} would make it one of "
            f"{read_as}, whose numbers mean something else",
        )


def _require_no_activation(checkpoint, report):
    if checkpoint.known_task.task_config.get("activation") == "sigmoid":
        report.conflict(
            "activation_fn",
            f"the score of {checkpoint.source} goes through a sigmoid, and {report.format} has no place for "
            "it",
        )


def _require_usual_vectors(checkpoint, report):
    """Refuses another way to make one vector of a text than the one that is taken where none is said."""
    pooling, usual = checkpoint.pooling or PoolingConfig(), PoolingConfig()
    if not isinstance(pooling, PoolingConfig):
        report.conflict(
            "pooling",
            f"{checkpoint.source} makes other vectors of texts than one for each, and {report.format} has no "
            "place for it",
        )
        return
    if pooling.truncate_dim or any(pooling.prompts.values()):
        report.conflict(
            "prompts",
            f"{checkpoint.source} says {', '.join(pooling.further)} of its vectors, and {report.format} has "
            "no place for it",
        )
    compared = ("mode", "normalize", "similarity_fn_name", "dense")
    names = [name for name in compared if _differs(pooling, usual, name)]
    if names:
        report.conflict(
            "pooling",
            f"{checkpoint.source} makes its vectors with {_named(pooling, names)}, and {report.format} has "
            f"no place for it: kbert would take {_named(usual, names)}",
        )


def _with_temperature_in_head(checkpoint, report):
    """The same probabilities at a temperature of 1: the last layer gives the logits divided by it."""
    recorded = checkpoint.known_task
    temperature = recorded.answering_config.get(_TEMPERATURE, 1.0)
    heads = [name for name in checkpoint.parts if name not in NO_HEADS]
    last = [f"{name}/dense/{end}" for name in heads for end in ("kernel", "bias")]
    if temperature == 1.0 or not checkpoint.tensors.keys() >= set(last):
        return checkpoint
    report.note(
        f"the last layer is divided by the temperature, {temperature:g}: the probabilities stay, at a "
        "temperature of 1"
    )
    config = recorded.answering_config | {_TEMPERATURE: 1.0}
    return dataclasses.replace(
        checkpoint,
        tensors=checkpoint.tensors | {name: _divided(checkpoint.tensors[name], temperature) for name in last},
        recorded=dataclasses.replace(recorded, task_config=config, chosen=None),
    )


def _divided(tensor, number):
    return StoredTensor(tensor.shape, "float32", lambda: tensor.as_float32().read() / float(number))


def _require_default_settings(checkpoint, report):
    task_class, config = TASKS[checkpoint.task], checkpoint.known_task.answering_config
    task = TASKS.recorded({"task": checkpoint.task, "task_config": config}).with_pooling(checkpoint.pooling)
    usual = task_class.from_labels(checkpoint.labels).with_pooling(checkpoint.pooling)
    usual, own = (each.settings_at(each.settings, checkpoint.max_seq_length) for each in (usual, task))
    names = [name for name in asdict(usual) if name not in task.not_in_answers and _differs(own, usual, name)]
    if names:
        report.conflict(
            TASK_SETTINGS,
            f"{checkpoint.source} answers with {_named(own, names)}, and {report.format} has no "
            f"place for it: its answers would be those of {_named(usual, names)}; a run (format kbert) keeps "
            "it",
        )


def _note_positive_label(checkpoint, report):
    """Notes whose F1 evaluations give from now on; answers do not depend on it."""
    positive, last = checkpoint.known_task.task_config.get("positive_label"), checkpoint.labels[-1:]
    if positive not in (None, *last):
        report.note(
            f"evaluations of {checkpoint.source} give the F1 of the label {shown(positive)}, and "
            f"{report.format} has no place for it: there it is that of the last label, {shown(last[0])}, "
            "unless a config says dataset.positive_label"
        )


def _warn_of_positions(checkpoint, report):
    """Warns of rows that no text has trained: nobody is told of them from now on."""
    trained, encoder = checkpoint.trained_positions, checkpoint.encoder
    if trained and encoder.num_position_rows and trained < encoder.max_position_embeddings:
        report.warn(
            f"no text of more than {trained} tokens has trained {checkpoint.source}, and {report.format} has "
            "no place for it: longer texts are read there without a warning",
            f"; kbert convert --max_position_embeddings={trained} leaves the other positions out",
        )


def _differs(first, second, name):
    return getattr(first, name) != getattr(second, name)


def _named(settings, names):
    return ", ".join(f"{name}={shown(getattr(settings, name))}" for name in names)
