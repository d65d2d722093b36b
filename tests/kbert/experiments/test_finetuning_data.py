"""Columns in memory and settings by name, as a call in Python gives them."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from kbert.config import FinetuningConfig, config_with_settings
from tests.conftest import tiny_finetuning_config

SMALL_DATA = "configs/finetuning/small_data.toml"


def test_settings_find_their_places():
    settings = {"num_train_epochs": 2, "learning_rate": 3e-5, "text_pair": "other"}
    config = config_with_settings(FinetuningConfig, SMALL_DATA, settings)
    assert (config.num_train_epochs, config.optimizer.learning_rate) == (2.0, 3e-5)
    assert config.dataset.text_pair == "other" and config.optimizer.name == "adamw"
    assert config_with_settings(
        FinetuningConfig, SMALL_DATA, {"seed": np.int64(3), "learning_rate": np.float64(1e-3)}
    )
    taught = {"distillation": {"temperature": 2.0}, "teacher": Path("runs/teacher")}
    assert config_with_settings(FinetuningConfig, SMALL_DATA, taught).distillation.teacher == "runs/teacher"
    made = tiny_finetuning_config()
    assert config_with_settings(FinetuningConfig, made, {}) is made
    assert config_with_settings(FinetuningConfig, made, {"seed": 7}) == tiny_finetuning_config(seed=7)


def test_the_order_of_settings_does_not_matter():
    """A group replaces the file's; what is given beside it holds, before it or behind."""
    settings = {"learning_rate": 1e-3, "optimizer": {"name": "lamb"}, "dropout": 0.1, "lora": {"rank": 4}}
    configs = [
        config_with_settings(FinetuningConfig, SMALL_DATA, dict(order))
        for order in itertools.permutations(settings.items())
    ]
    assert all(config == configs[0] for config in configs)
    assert (configs[0].optimizer.learning_rate, configs[0].optimizer.name) == (1e-3, "lamb")
    assert (configs[0].lora.rank, configs[0].lora.dropout) == (4, 0.1)


def test_a_setting_alone_and_in_its_group_is_refused():
    settings = {"learning_rate": 1e-3, "optimizer": {"learning_rate": 1e-4}}
    with pytest.raises(
        ValueError, match="optimizer.learning_rate is given twice, by learning_rate and by opti"
    ):
        config_with_settings(FinetuningConfig, SMALL_DATA, settings)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        (
            {"dropout": 0.1},
            r"dropout=0.1 means lora.dropout, but the config has no lora. .* lora=\{'dropout'",
        ),
        ({"temperature": 2.0}, "temperature=2.0 means distillation.temperature, but the config has no"),
        ({"labels": {"a": 0}.keys()}, r"dataset\.labels: received dict_keys\(\['a'\]\); expected a number"),
        ({"embeddings": True}, "embeddings=True means frozen.embeddings, but"),
        (
            {"class_weights": "balanced"},
            r"is no setting of .* given as task_settings=\{'class_weights': ...\}",
        ),
    ],
)
def test_a_setting_begins_nothing_that_the_config_has_not(setting, sentence):
    with pytest.raises(ValueError, match=sentence):
        config_with_settings(FinetuningConfig, SMALL_DATA, setting)
    config = config_with_settings(FinetuningConfig, SMALL_DATA, {"lora": {"rank": 4}, "dropout": 0.1})
    assert (config.lora.rank, config.lora.dropout) == (4, 0.1)
