"""The arithmetic of a step, by the sizes of real matrices."""

import numpy as np
import pytest

from kbert.encoder import BertEncoder
from kbert.runs.run_directory import trained_weights
from kbert.tasks.pretraining.objectives import MaskedLM
from kbert.training.measuring.step_work import StepWork, training_flops
from tests.conftest import tiny_encoder_config


@pytest.mark.parametrize("embedding_size", [None, 6])
def test_the_arithmetic_is_that_of_the_models_own_matrices(embedding_size):
    """Each kernel of the encoder for each token, the masked-LM head's and the table for each prediction."""
    config = tiny_encoder_config(embedding_size=embedding_size)
    weights = trained_weights(MaskedLM().build_model(BertEncoder(config)))
    sizes = {name: np.prod(v.shape) for name, v in weights.items() if name.endswith("kernel")}
    per_token = sum(size for name, size in sizes.items() if name.startswith(("layer_", "embeddings")))
    table = weights["embeddings/word_embeddings"]
    per_prediction = sizes["masked_lm/transform/kernel"] + np.prod(table.shape)
    work = StepWork.for_batch(4, 10, 3)
    attention = 2 * config.num_hidden_layers * 4 * 10 * 10 * config.hidden_size  # scores, sums of values
    assert training_flops(config, work) == 6 * (40 * per_token + 12 * per_prediction + attention)
