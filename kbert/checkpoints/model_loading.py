"""Builds a Keras model from a BertCheckpoint, or loads one into an existing model."""

import dataclasses
from collections.abc import Callable

from absl import logging

from kbert.checkpoints.bert_checkpoint import BertCheckpoint
from kbert.checkpoints.conversion.resizing import POSITION_TABLE, with_positions
from kbert.checkpoints.model_variables import part_name
from kbert.config import EncoderConfig
from kbert.config.lora_config import is_adapter
from kbert.heads.parts import POOLER
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
    task = task_from_checkpoint(checkpoint)
    model, tensors = task.empty_model(checkpoint.encoder, dtype), checkpoint.complete()
    for variable in model.trainable_variables:
        variable.assign(tensors[variable.path].read())
    return task, model


def initialize(
    model, checkpoint: BertCheckpoint, labels=(), is_reinitialized: Callable[[str], bool] | None = None
) -> dict[str, list[str]]:
    """Loads all that fits from a checkpoint into a new model, and warns about what stays freshly initialised.

    The encoder's body is always loaded completely. A head is loaded when the checkpoint has the same head
    with the same shapes and, if it has labels, the same labels. Labels in another order are matched by name.
    With `normalize_first` every head begins with a dense layer and a norm, for which those of any other head
    are taken, as transformers does.

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
    sources = _sources(expected, checkpoint)
    labelled = _labelled(expected, checkpoint)
    misfits = _misfits(expected, sources, labelled, checkpoint, labels)
    if "body" in misfits:
        raise ValueError(f"{checkpoint.source} does not fit this encoder: {misfits['body']}.")

    taken = [name for name in expected if _layers(name, checkpoint) not in misfits]
    columns = _columns(labels, checkpoint) if labelled.intersection(taken) else None
    for name in taken:
        values = checkpoint.tensors[sources[name]].read()
        variables[name].assign(values[..., columns] if columns and name in labelled else values)
    logging.info(
        "loaded %d of %d variables from %s (%s)",
        len(taken), len(variables), checkpoint.source, checkpoint.report.format,
    )  # fmt: skip
    layers = sorted({name.split("/")[0] for name in reinitialized if not is_adapter(name)})
    if layers:
        logging.info("%s are initialised again, as the config says", ", ".join(layers))
    for head, reason in misfits.items():
        logging.warning("%s is freshly initialised: %s", head, reason)
    for name, source in sources.items():
        if name != source and name.endswith("kernel") and name in taken:
            logging.info("%s starts with the dense layer and norm of %s", part_name(name), part_name(source))
    for part in sorted(
        {part_name(name) for name in checkpoint.tensors}
        - {part_name(name) for name in (*variables, *sources.values())}
    ):
        logging.info("%s of the checkpoint is not used: this model has no such part", part)
    return {"taken": taken, "fresh": [name for name in variables if name not in taken]}


def _sources(variables, checkpoint):
    """Variable of the model -> the tensor of the checkpoint that it starts with, where there is one."""
    shared = {_transform_name(name, checkpoint): name for name in checkpoint.tensors}
    shared.pop(None, None)
    sources = {}
    for name in variables:
        source = name if name in checkpoint.tensors else shared.get(_transform_name(name, checkpoint))
        if source is not None:
            sources[name] = source
    return sources


def _transform_name(name, checkpoint):
    """The name, without that of its head, of a variable of the two layers that every head begins with.

    It is None for other variables. Reference: transformers, modeling_modernbert.py, where a
    `ModernBertPredictionHead` is `head` in every class.
    """
    encoder = checkpoint.encoder
    is_shared = encoder.normalize_first and encoder.pooler_hidden_act == encoder.hidden_act
    if not is_shared or part_name(name) == "body":
        return None
    part, *path = name.split("/")
    if part == POOLER.name and path[0] == "dense":
        path[0] = "transform"
    return "/".join(path) if path[0] in ("transform", "layer_norm") else None


def _layers(name, checkpoint):
    """The layers that are taken or left together with a variable: its part, or what the part begins with."""
    part = part_name(name)
    return f"{part} (its dense layer and norm)" if _transform_name(name, checkpoint) else part


def _labelled(variables, checkpoint):
    """The variables whose last axis is that of the checkpoint's labels."""
    layers = tuple(f"{part.name}/dense/" for part in checkpoint.parts.values() if part.has_labels)
    return {name for name in variables if name.startswith(layers)}


def _misfits(variables, sources, labelled, checkpoint, labels):
    """Layers of the model -> why the checkpoint's tensors do not fit them."""
    misfits: dict[str, str] = {}
    for name, variable in variables.items():
        layers = _layers(name, checkpoint)
        if name not in sources:
            misfits.setdefault(layers, "the checkpoint has none")
            continue
        source = sources[name]
        shape, expected = checkpoint.tensors[source].shape, tuple(variable.shape)
        if shape != expected:
            misfits[layers] = f"the checkpoint's {source} has shape {shape}, not {expected}"
        elif name in labelled and sorted(labels) != sorted(checkpoint.labels):
            named = f"the checkpoint's labels are {list(checkpoint.labels)}, not {list(labels)}"
            misfits[layers] = f"{named}.{checkpoint.naming_advice(len(labels))}"
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


def encoder_for_checkpoint(encoder: EncoderConfig | None, checkpoint: BertCheckpoint) -> EncoderConfig:
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
            f"{'; '.join(differing)}. Leave `encoder` out to take the checkpoint's; kbert convert "
            "--max_position_embeddings=N writes it with more positions."
        )
    return encoder
