"""A model with random weights, and the hidden states that the NumPy reference computes for it."""

import numpy as np

from kbert.encoder import BertEncoder
from kbert.inference.loaded_model import LoadedModel
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config
from tests.kbert import reference_bert
from tests.kbert.test_encoder import randomize
from tests.tfrecords_tools import small_corpus

TEXTS = ["jump the a", "", "walked and talked, opening the play. " * 4, "turn", "ask the looks"]


def random_model(max_seq_length=24, num_hidden_layers=3, **changes) -> tuple[LoadedModel, dict]:
    """(a bare encoder as `load` would give it, its weights by name)."""
    task = TASKS["encoder"]()
    model = task.build_model(BertEncoder(tiny_encoder_config(num_hidden_layers=num_hidden_layers)))
    weights = randomize(model)
    return LoadedModel("random", task, model, small_corpus.vocabulary(), max_seq_length, **changes), weights


def random_task_model(task, **arguments) -> LoadedModel:
    """A model of a task with a small encoder of random weights."""
    model = task.build_model(BertEncoder(tiny_encoder_config(num_hidden_layers=1)))
    randomize(model)
    return LoadedModel("random", task, model, small_corpus.vocabulary(), 24, **arguments)


def reference_states(loaded, weights, text, text_pair=None) -> np.ndarray:
    """float64 (states, tokens, hidden_size) of one text by itself, without padding."""
    inputs = loaded.inputs([text], None if text_pair is None else [text_pair])
    inputs = {name: value.numpy() for name, value in inputs.items()}
    assert inputs["input_mask"].all()
    states, _ = reference_bert.encode_all(weights, inputs, loaded.config)
    return np.stack([state[0] for state in states])
