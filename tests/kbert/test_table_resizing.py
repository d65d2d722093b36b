"""More positions and other vocabularies: old rows stay, new rows are what they are said to be."""

import numpy as np
import pytest

from kbert.encoder import BertEncoder
from kbert.table_resizing import OUTPUT_BIAS, POSITION_TABLE, WORD_TABLE, resize_positions, resize_vocabulary
from kbert.tasks.pretraining import Pretraining
from tests.conftest import tiny_encoder_config
from tests.kbert.test_encoder import random_inputs, randomize

RNG = np.random.default_rng(13)


def weights(tokens=5, rows=5):
    return {
        WORD_TABLE: RNG.normal(size=(rows, 3)).astype(np.float32),
        POSITION_TABLE: RNG.normal(size=(4, 3)).astype(np.float32),
        OUTPUT_BIAS: RNG.normal(size=(rows,)).astype(np.float32),
        "pooler/dense/kernel": RNG.normal(size=(3, 3)).astype(np.float32),
    }


def test_a_longer_position_table_repeats_the_trained_rows():
    old = weights()
    new = resize_positions(old, 10)
    table = old[POSITION_TABLE]
    np.testing.assert_array_equal(new[POSITION_TABLE], np.concatenate([table, table, table[:2]]))
    assert all(new[name] is old[name] for name in old if name != POSITION_TABLE)
    assert old[POSITION_TABLE].shape == (4, 3)


def test_a_shorter_position_table_keeps_the_first_rows():
    old = weights()
    np.testing.assert_array_equal(resize_positions(old, 3)[POSITION_TABLE], old[POSITION_TABLE][:3])
    with pytest.raises(ValueError, match="max_position_embeddings=0 must be positive"):
        resize_positions(old, 0)


def test_tokens_keep_their_rows_wherever_they_stand_now_and_new_ones_get_the_mean():
    old = weights(rows=7)  # two rows more than tokens: they are nobody's, and not part of the mean
    new = resize_vocabulary(old, "abcde", "ecxay")
    for name in (WORD_TABLE, OUTPUT_BIAS):
        table = old[name]
        mean = table[:5].mean(axis=0)
        np.testing.assert_allclose(new[name], [table[4], table[2], mean, table[0], mean], atol=1e-7)
        np.testing.assert_array_equal(new[name][[0, 1, 3]], table[[4, 2, 0]])
        assert new[name].dtype == np.float32
    assert new["pooler/dense/kernel"] is old["pooler/dense/kernel"]
    del old[OUTPUT_BIAS]
    assert OUTPUT_BIAS not in resize_vocabulary(old, "abcde", "ab")


def test_vocabularies_that_do_not_fit():
    with pytest.raises(ValueError, match="the token table has 5 rows, fewer than the 6 tokens of its vocab"):
        resize_vocabulary(weights(), "abcdef", "ab")
    with pytest.raises(ValueError, match="the new vocabulary repeats a token"):
        resize_vocabulary(weights(), "abcde", "aba")


def test_resized_models_answer_as_before_and_a_new_tokens_logit_is_the_mean_of_all():
    old_config = tiny_encoder_config()
    old_model = Pretraining().build_model(BertEncoder(old_config))
    old = randomize(old_model)
    tokens = [str(i) for i in range(old_config.vocab_size)]
    new = resize_positions(resize_vocabulary(old, tokens, [*tokens, "new", "newer"]), 50)
    config = tiny_encoder_config(vocab_size=len(tokens) + 2, max_position_embeddings=50)
    model = Pretraining().build_model(BertEncoder(config))
    for variable in model.trainable_variables:
        variable.assign(new[variable.path])
    inputs = random_inputs(old_config) | {"masked_lm_positions": np.array([[1], [0], [2], [3]])}
    before, after = old_model(inputs), model(inputs)
    np.testing.assert_allclose(after["next_sentence_logits"], before["next_sentence_logits"], atol=1e-5)
    logits = before["masked_lm_logits"].numpy()
    np.testing.assert_allclose(after["masked_lm_logits"][..., :-2], logits, atol=1e-4)
    mean = np.repeat(logits.mean(axis=-1, keepdims=True), 2, axis=-1)
    np.testing.assert_allclose(after["masked_lm_logits"][..., -2:], mean, atol=1e-4)
    # And places that the old table did not have.
    long = {name: np.tile(value, (1, 4))[:, :48] for name, value in inputs.items() if "masked" not in name}
    assert np.isfinite(model(long | {"masked_lm_positions": np.array([[47]] * 4)})["masked_lm_logits"]).all()
