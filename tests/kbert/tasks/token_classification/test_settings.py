"""A tagger reads the layers that its settings name, in training as in answers."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest
from keras import Model

from kbert.checkpoints.model_variables import require_parts
from kbert.config import FrozenConfig, LoraConfig
from kbert.encoder import BertEncoder
from kbert.inference.answering_encoder import answering_model
from kbert.runs.run_directory import trained_weights
from kbert.tasks.token_classification.settings import LAYERS, TokenClassificationSettings
from kbert.tasks.token_classification.token_classification import TokenClassification
from tests.conftest import mostly_long, tiny_encoder_config
from tests.kbert.test_encoder import randomize

CONFIG = tiny_encoder_config(num_hidden_layers=5)
NUMBERS = {
    "embeddings": [0],
    "second_to_last": [4],
    "last": [5],
    "weighted_last4": [2, 3, 4, 5],
    "last4": [2, 3, 4, 5],
    "weighted_all": [1, 2, 3, 4, 5],
}


@pytest.mark.parametrize("layers", LAYERS)
def test_layers_have_these_numbers(layers):
    settings = TokenClassificationSettings(head="bilstm", layers=layers)
    assert list(settings.layer_numbers(CONFIG)) == NUMBERS[layers]


@pytest.mark.parametrize("settings", [{"layers": "embeddings"}, {"lstm_size": 8}], ids=str)
def test_what_a_linear_head_does_not_read_is_refused(settings):
    TokenClassificationSettings(head="bilstm", **settings)
    with pytest.raises(ValueError, match=f"{next(iter(settings))}=.* is for a BiLSTM"):
        TokenClassificationSettings(**settings)


@pytest.mark.parametrize(
    ("changes", "is_refused"),
    [
        ({}, True),
        ({"frozen": FrozenConfig(embeddings=True, layers=4)}, True),
        ({"frozen": FrozenConfig(embeddings=True, layers=5)}, False),
        ({"frozen": FrozenConfig(embeddings=True, layers=5), "lora": LoraConfig()}, True),
        ({"freeze_encoder": True}, False),
    ],
    ids=str,
)
def test_layers_that_no_gradient_reaches_are_not_trained(changes, is_refused):
    task = TokenClassification(("O", "B-X", "I-X"), head="bilstm", layers="second_to_last", lstm_size=8)
    config = SimpleNamespace(
        **{"encoder": CONFIG, "frozen": None, "lora": None, "freeze_encoder": False} | changes
    )
    expected = pytest.raises(
        ValueError, match="reads nothing above layer 4 of 5, so the layers above cannot be"
    )
    with expected if is_refused else contextlib.nullcontext():
        task.check_training(config, None)


@pytest.mark.parametrize(
    "layers", mostly_long(["second_to_last", "last4", "weighted_last4"], ("second_to_last", "weighted_last4"))
)
def test_a_tagger_reads_the_layers_that_are_named(layers):
    task = TokenClassification(("O", "B-X", "I-X"), head="bilstm", layers=layers, lstm_size=4)
    model = task.build_model(BertEncoder(CONFIG))
    randomize(model)
    require_parts(task, trained_weights(model))

    rng = np.random.default_rng(3)
    mask = (np.arange(5) < np.array([[5], [3], [1]])).astype(np.int32)
    ids = rng.integers(5, CONFIG.vocab_size, mask.shape).astype(np.int32)
    inputs = {"input_ids": ids * mask, "input_mask": mask, "segment_ids": 0 * mask}
    states = model.encoder(inputs)["hidden_states"]
    expected = np.concatenate([states[number] for number in NUMBERS[layers]], axis=-1)
    np.testing.assert_array_equal(Model(model.input, model.read)(inputs), expected)
    found, logits = answering_model(model)(inputs)["logits"], model(inputs)["logits"]
    assert np.ptp(logits) > 0.01
    np.testing.assert_allclose(found[mask > 0], logits[mask > 0], atol=1e-5)
