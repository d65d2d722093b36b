"""The arithmetic of a step, by the sizes of real matrices."""

import numpy as np

from kbert.encoder import BertEncoder
from kbert.runs.run_directory import trained_weights
from kbert.tasks.pretraining.objectives import MaskedLM
from kbert.training.measuring.step_work import StepWork, training_flops
from tests.conftest import tiny_encoder_config


def test_the_arithmetic_is_that_of_the_models_own_matrices():
    """Each kernel of a block for each token, the masked-LM head's for each prediction."""
    config = tiny_encoder_config()
    weights = trained_weights(MaskedLM().build_model(BertEncoder(config)))
    sizes = {name: np.prod(v.shape) for name, v in weights.items() if name.endswith("kernel")}
    per_token = sum(size for name, size in sizes.items() if name.startswith("layer_"))
    per_prediction = sizes["masked_lm/transform/kernel"] + config.vocab_size * config.hidden_size
    work = StepWork.for_batch(4, 10, 3)
    attention = 2 * config.num_hidden_layers * 4 * 10 * 10 * config.hidden_size  # scores, sums of values
    assert training_flops(config, work) == 6 * (40 * per_token + 12 * per_prediction + attention)


def test_what_follows_narrow_tables_works_on_each_token():
    work = StepWork.for_batch(4, 10)
    plain, narrow = (tiny_encoder_config(embedding_size=size) for size in (None, 6))
    assert training_flops(narrow, work) - training_flops(plain, work) == 6 * 40 * 6 * narrow.hidden_size
