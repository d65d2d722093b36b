"""Compares a checkpoint's outputs with stored outputs of transformers."""

import numpy as np

from kbert.checkpoints.formats import read_checkpoint
from kbert.checkpoints.model_loading import build_model
from kbert.features import ENCODER_INPUTS
from kbert.inference.answering_encoder import AnsweringEncoder, answering_model


def answers(path, inputs, answering=False):
    """kbert's outputs for transformers' inputs, under transformers' names, and the checkpoint.

    With `answering` they are those of the graph that serves, else those of Keras's model.
    """
    checkpoint = read_checkpoint(path)
    task, model = build_model(checkpoint)
    features = {name: inputs[name].astype(np.int32) for name in ENCODER_INPUTS}
    if task.name == "multiple_choice" and inputs["input_ids"].ndim == 2:
        features = {name: value.reshape(-1, 2, value.shape[-1]) for name, value in features.items()}
    if "masked_lm_positions" in model.input:
        batch, length = inputs["input_ids"].shape
        positions = np.broadcast_to(np.arange(length, dtype=np.int32), (batch, length))
        features["masked_lm_positions"] = positions
    if answering and task.name == "encoder":
        model = AnsweringEncoder(model, outputs=tuple(model.output))
    elif answering:
        model = answering_model(model)
    outputs = {name: np.asarray(value) for name, value in model(features, training=False).items()}
    names = {
        "sequence_output": "last_hidden_state",
        "pooled_output": "pooler_output",
        "masked_lm_logits": "prediction_logits" if checkpoint.task == "pretraining" else "logits",
        "next_sentence_logits": "seq_relationship_logits" if task.name == "pretraining" else "logits",
    }
    return checkpoint, {names.get(name, name): value for name, value in outputs.items()}


def largest_difference(ours, expected) -> float:
    """Over all outputs in `expected`, except hidden states, which a task's model does not return.

    Positions of padding count only where an output has one row per text.
    """
    real = expected["input_mask"].astype(bool)
    compared = expected.keys() - {*ENCODER_INPUTS, "hidden_states"}
    assert compared and compared <= ours.keys()
    differences = []
    for name in compared:
        assert ours[name].shape == expected[name].shape
        difference = np.abs(ours[name] - expected[name])
        differences.append((difference[real] if difference.shape[:2] == real.shape else difference).max())
    return float(max(differences))
