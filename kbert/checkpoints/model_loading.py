"""Builds a Keras model from a BertCheckpoint, or loads one into an existing model."""

import dataclasses
from collections.abc import Callable

from absl import logging

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.resizing import POSITION_TABLE, with_positions
from kbert.checkpoints.model_variables import part_name
from kbert.config import EncoderConfig
from kbert.config.lora_config import is_adapter
from kbert.tasks import TASKS


def task_from_checkpoint(checkpoint: BertCheckpoint):
    """The `kbert.tasks.Task` of a checkpoint, with its recorded settings and what an evaluation chose."""
    task_config = checkpoint.known_task.answering_config
    return TASKS.recorded({"task": checkpoint.task, "task_config": task_config})


def build_model(checkpoint: BertCheckpoint, dtype="float32"):
    """The checkpoint's model with its weights; missing variables get fresh initial values.

    Args:
      checkpoint: any `BertCheckpoint`.
      dtype: a Keras dtype policy.

    Returns:
      (task, Keras model). The model of the task "encoder" is the `BertEncoder` itself.
    """
    from kbert.encoder import BertEncoder

    task = task_from_checkpoint(checkpoint)
    model = task.build_model(BertEncoder(checkpoint.encoder, dtype=dtype))
    tensors = checkpoint.complete()
    for variable in model.trainable_variables:
        variable.assign(tensors[variable.path].read())
    return task, model


def initialize(
    model, checkpoint: BertCheckpoint, labels=(), is_reinitialized: Callable[[str], bool] | None = None
) -> dict[str, list[str]]:
    """Loads all that fits from a checkpoint into a new model, and warns about what stays freshly initialised.

    The encoder's body is always loaded completely. A head is loaded when the checkpoint has the same head
    with the same shapes and, if it has labels, the same labels. Labels in another order are matched by name.

    Args:
      model: a task's model, or an encoder.
      checkpoint: where the numbers come from; its encoder has the model's shape.
      labels: the model's label names.
      is_reinitialized: function from a variable's name to whether it keeps its fresh values all the same.

    Returns:
      {"taken": names, "fresh": names}: the variables of the model.

    Raises:
      ValueError: when the body does not fit; nothing is assigned then.
    """
    variables = {variable.path: variable for variable in model.trainable_variables}
    positions = variables[POSITION_TABLE].shape[0] if POSITION_TABLE in variables else 0
    if positions > checkpoint.encoder.max_position_embeddings:
        checkpoint = with_positions(checkpoint, positions)
        logging.info("%s", checkpoint.report.notes[-1])
    reinitialized = [name for name in variables if is_reinitialized and is_reinitialized(name)]
    expected = {name: variable for name, variable in variables.items() if name not in reinitialized}
    misfits = _misfits(expected, checkpoint, labels)
    if "body" in misfits:
        raise ValueError(f"{checkpoint.source} does not fit this encoder: {misfits['body']}.")

    taken = [name for name in expected if part_name(name) not in misfits]
    labelled = _labelled_parts(checkpoint)
    columns = _columns(labels, checkpoint) if any(part_name(name) in labelled for name in taken) else None
    for name in taken:
        values = checkpoint.tensors[name].read()
        variables[name].assign(values[..., columns] if columns and part_name(name) in labelled else values)
    logging.info(
        "loaded %d of %d variables from %s (%s)",
        len(taken), len(variables), checkpoint.source, checkpoint.report.format,
    )  # fmt: skip
    layers = sorted({name.split("/")[0] for name in reinitialized if not is_adapter(name)})
    if layers:
        logging.info("%s begin anew, as the config asks", ", ".join(layers))
    for part, reason in misfits.items():
        logging.warning("%s is freshly initialised: %s", part, reason)
    for part in sorted(
        {part_name(name) for name in checkpoint.tensors} - {part_name(name) for name in variables}
    ):
        logging.info("%s of the checkpoint is not used: this model has no such part", part)
    return {"taken": taken, "fresh": [name for name in variables if name not in taken]}


def _labelled_parts(checkpoint):
    return {part.name for part in checkpoint.parts.values() if part.has_labels}


def _misfits(variables, checkpoint, labels):
    """Part of the model -> why the checkpoint's tensors do not fit it."""
    misfits: dict[str, str] = {}
    labelled = _labelled_parts(checkpoint)
    for name, variable in variables.items():
        part, tensor = part_name(name), checkpoint.tensors.get(name)
        if tensor is None:
            misfits.setdefault(part, "the checkpoint has none")
        elif tensor.shape != tuple(variable.shape):
            misfits[part] = f"the checkpoint's {name} has shape {tensor.shape}, not {tuple(variable.shape)}"
        elif part in labelled and sorted(labels) != sorted(checkpoint.labels):
            misfits[part] = f"the checkpoint's labels are {list(checkpoint.labels)}, not {list(labels)}"
    return misfits


def _columns(labels, checkpoint):
    """The positions of the model's labels in the checkpoint; None where that is the same order.

    Label orders differ: MNLI's is another one in google-research/bert than in Hugging Face's data sets.
    """
    if tuple(labels) == checkpoint.labels:
        return None
    logging.warning(
        "labels of %s are matched by name: its order is %s, this model's is %s",
        checkpoint.source, list(checkpoint.labels), list(labels),
    )  # fmt: skip
    return [checkpoint.labels.index(label) for label in labels]


def agreed_encoder(encoder: EncoderConfig | None, checkpoint: BertCheckpoint) -> EncoderConfig:
    """The encoder of a run that starts from `checkpoint`.

    It is the checkpoint's. Only the dropout rates may differ, and there may be more positions; the added ones
    repeat the trained ones (see kbert.checkpoints.conversion.resizing).

    Args:
      encoder: the training config's encoder, or None to take the checkpoint's.
      checkpoint: the `init_checkpoint`.

    Raises:
      ValueError: when the two encoders differ in other keys; the message names them.
    """
    theirs = checkpoint.encoder
    if encoder is None:
        return theirs
    free = ["hidden_dropout_prob", "attention_probs_dropout_prob"]
    if encoder.max_position_embeddings > theirs.max_position_embeddings:
        free.append("max_position_embeddings")
    differing = [
        f"{name} ({getattr(encoder, name)} here, {getattr(theirs, name)} there)"
        for name in (field.name for field in dataclasses.fields(EncoderConfig))
        if name not in free and getattr(encoder, name) != getattr(theirs, name)
    ]
    if differing:
        raise ValueError(
            f"the config's encoder is not that of init_checkpoint={checkpoint.source}: "
            f"{'; '.join(differing)}. Leave `encoder` out to take the checkpoint's."
        )
    return encoder
