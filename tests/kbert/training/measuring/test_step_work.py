"""The arithmetic of a step, by the sizes of real matrices."""

import numpy as np
import pytest

from kbert.encoder import BertEncoder
from kbert.features import PACKED_POSITIONS
from kbert.runs.run_directory import trained_weights
from kbert.tasks.pretraining.objectives import MaskedLM
from kbert.training.measuring.step_work import StepWork, count_work, training_flops
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


def test_positions_are_those_that_are_computed():
    """Texts that share rows were counted as padded ones."""
    batch = {"input_mask": np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])}
    assert StepWork(*count_work(batch).numpy()) == StepWork(3, 7, 4 + 1 + 16, 0, 12)
    packed = batch | {PACKED_POSITIONS: np.zeros((2, 4), np.int32)}
    assert StepWork(*count_work(packed).numpy()) == StepWork(3, 7, 4 + 1 + 16, 0, 8)
