"""Weight decay and learning rates by name, on the names of real models and of the original's checkpoints."""

import pytest

from kbert.checkpoints.conversion.names import GOOGLE_TF1, rows
from kbert.config import OptimizerConfig
from kbert.encoder import BertEncoder
from kbert.runs.run_directory import trained_weights
from kbert.tasks.pretraining.objectives import Pretraining
from kbert.training.optimizers.optimizer import is_decayed, learning_rate_factors, require_found
from tests.conftest import tiny_encoder_config

PATTERNS = OptimizerConfig().exclude_from_weight_decay


def pretraining_names():
    return list(
        trained_weights(Pretraining().build_model(BertEncoder(tiny_encoder_config(num_hidden_layers=2))))
    )


def test_every_variable_of_the_model_is_decayed_unless_it_is_a_norm_or_a_bias():
    names = pretraining_names()
    assert {name.rsplit("/", 1)[1] for name in names if not is_decayed(name, PATTERNS)} == {
        "gamma", "beta", "bias", "output_bias",
    }  # fmt: skip
    assert {name.rsplit("/", 1)[1] for name in names if is_decayed(name, PATTERNS)} == {
        "kernel", "word_embeddings", "position_embeddings", "token_type_embeddings",
    }  # fmt: skip


def test_patterns_that_exclude_nothing_are_refused():
    names = pretraining_names()
    require_found((*PATTERNS, "layer_norm/gamma", "embeddings"), names)
    # As Hugging Face's recipes have them: without a word the norms would be decayed.
    with pytest.raises(ValueError, match=r": LayerNorm\.bias, LayerNorm\.weight is found in no"):
        require_found(("bias", "LayerNorm.bias", "LayerNorm.weight"), names)


def test_the_originals_names_fall_into_the_same_groups():
    parts = ("pooler", "masked_lm", "next_sentence", "classification", "span")
    table = rows(GOOGLE_TF1, parts, num_layers=2)
    for row in table:
        assert is_decayed(row.outside, PATTERNS) == is_decayed(row.kbert, PATTERNS), row
    outside, ours = ([getattr(row, side) for row in table] for side in ("outside", "kbert"))
    assert learning_rate_factors(outside, 0.8) == learning_rate_factors(ours, 0.8)


def test_learning_rates_fall_from_the_head_to_the_embeddings():
    names = pretraining_names()  # two layers
    by_depth = {"embeddings": 0.125, "layer_0": 0.25, "layer_1": 0.5}
    assert learning_rate_factors(names, 0.5) == [by_depth.get(name.split("/")[0], 1.0) for name in names]
