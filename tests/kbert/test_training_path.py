"""What training runs inside the encoder is the encoder: kernels, packed rows, recomputation.

The plain path is that of inference, differentiated by TensorFlow.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.encoder import BertEncoder
from kbert.kernels.kernel import Kernel
from kbert.tasks.pretraining.objectives import Pretraining
from tests.conftest import tiny_encoder_config
from tests.kbert.test_encoder import MODERN, MPNET

pytestmark = pytest.mark.usefixtures("eager")

LENGTHS = (9, 4, 1, 6, 2)
BATCH, SEQ_LENGTH = len(LENGTHS), 9


def batch():
    rng = np.random.default_rng(0)
    mask = (np.arange(SEQ_LENGTH) < np.array(LENGTHS)[:, None]).astype(np.int32)
    return {
        "input_ids": rng.integers(5, 22, size=mask.shape).astype(np.int32) * mask,
        "input_mask": mask,
        "segment_ids": ((np.arange(SEQ_LENGTH) > 2) * mask).astype(np.int32),
    }


# Texts 0, 4 | 1, 3, 2 in rows of 12, laid out by hand.
PACKED_POSITIONS = np.array(
    [
        [*range(9), 36, 37, 45],
        [9, 10, 11, 12, 27, 28, 29, 30, 31, 32, 18, 45],
    ],
    np.int32,
)


NARROW = {"embedding_size": 6, "pooler_hidden_act": "gelu_erf"}


def encoder(dropout=0.0, dtype="float32", shape=None, **settings):
    keras.utils.set_random_seed(3)
    shape = {"num_hidden_layers": 1, "hidden_act": "gelu"} | (shape or {})
    config = tiny_encoder_config(hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, **shape)
    return BertEncoder(config, dtype=dtype, **settings)


def inputs_of(model):
    return batch() | ({"packed_positions": PACKED_POSITIONS} if "packed_positions" in model.input else {})


def answer_and_gradients(model, training):
    """Outputs at real tokens, and the gradient of each weight of a sum that differs from place to place."""
    features = inputs_of(model)
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=(BATCH, SEQ_LENGTH, 16)) * features["input_mask"][:, :, None]]
    weights.append(rng.normal(size=(BATCH, 16)))
    variables = {v.path: v.value for v in model.trainable_variables}

    @tf.function
    def run(features):
        with tf.GradientTape() as tape:
            outputs = model(features, training=training)
            named = [tf.cast(outputs[name], tf.float32) for name in ("sequence_output", "pooled_output")]
            named[0] *= tf.cast(features["input_mask"][:, :, None], tf.float32)
            total = tf.add_n([tf.reduce_sum(v * w) for v, w in zip(named, weights, strict=True)])
        gradients = tape.gradient(total, list(variables.values()))
        return named, [tf.convert_to_tensor(gradient) for gradient in gradients]

    outputs, gradients = run({name: tf.constant(value) for name, value in features.items()})
    return [o.numpy() for o in outputs], dict(zip(variables, (g.numpy() for g in gradients), strict=True))


@pytest.fixture(scope="module")
def plain():
    return answer_and_gradients(encoder(), training=False)


def compare(found, expected):
    for got, want in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(got, want, atol=2e-6)
    assert found[1].keys() == expected[1].keys()
    for name, want in expected[1].items():
        np.testing.assert_allclose(found[1][name], want, atol=3e-5 * max(np.abs(want).max(), 1), err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "variable"),
    [
        (NARROW, "embeddings/projection/bias"),
        (MPNET, "embeddings/position_bias/relative_attention_bias"),
        (
            MODERN | {"num_hidden_layers": 2, "classifier_pooling": "mean", "mlp_bias": True},
            "layer_1/feed_forward/intermediate/bias",
        ),
    ],
    ids=["narrow tables", "position bias", "ModernBERT"],
)
def test_other_encoders_are_trained_as_they_answer(shape, variable):
    expected = answer_and_gradients(encoder(shape=shape), training=False)
    assert np.abs(expected[1][variable]).max() > 1e-3
    packed = encoder(shape=shape, packed=True, recompute=True)
    compare(answer_and_gradients(packed, training=True), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "training"),
    [({}, True), ({"packed": True}, False), ({"packed": True, "recompute": True}, True)],
    ids=str,
)
def test_every_way_through_the_encoder_gives_the_same_answers_and_gradients(plain, settings, training):
    compare(answer_and_gradients(encoder(**settings), training), plain)


@pytest.mark.slow
def test_recomputation_draws_the_same_dropout():
    kept, again = (
        answer_and_gradients(encoder(dropout=0.3, recompute=recompute), training=True)
        for recompute in (False, True)
    )
    for got, want in zip(again[0], kept[0], strict=True):
        np.testing.assert_array_equal(got, want)
    for name, want in kept[1].items():
        np.testing.assert_allclose(again[1][name], want, atol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "packed"), [("mixed_bfloat16", False), ("mixed_float16", True)])
def test_half_precision_is_near(plain, dtype, packed):
    compare_roughly(answer_and_gradients(encoder(dtype=dtype, packed=packed), training=True), plain)


HALF = ("mixed_bfloat16", "mixed_float16")


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [pytest.param(MODERN, id="ModernBERT"), pytest.param(MPNET, id="MPNet", marks=pytest.mark.long)]
)
def test_half_precision_of_other_encoders_is_near(shape):
    expected = answer_and_gradients(encoder(shape=shape), training=False)
    for dtype, settings in zip(HALF, ({"recompute": True}, {"packed": True}), strict=True):
        compare_roughly(answer_and_gradients(encoder(shape=shape, dtype=dtype, **settings), True), expected)


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("outputs", ["sequence_output", "attention_probabilities"])
@pytest.mark.parametrize("training", [True, False])
def test_position_biases_reach_the_scores_in_float32(dtype, outputs, training):
    """A bias of 1024.5 is no number of 16 bits; the kernels of the scores are 0, so only biases count."""
    model = encoder(shape=MPNET, dtype=dtype).with_outputs(outputs)
    bias = model.embeddings.position_bias.relative_attention_bias
    seen = []
    attend = model.blocks[0].attention.attend

    def attending(query, key, value, rows, *further):
        seen.append(rows.position_bias)
        return attend(query, key, value, rows, *further)

    model.blocks[0].attention.attend = attending
    bias.assign(np.full(bias.shape, 1024.5))
    model(batch(), training=training)
    assert seen[0].dtype == tf.float32 and np.all(seen[0] == 1024.5)


def compare_roughly(found, expected):
    outputs, gradients = found
    assert np.abs(outputs[0] - expected[0][0]).max() < 0.15
    for name, want in expected[1].items():
        assert gradients[name].dtype == np.float32
        assert np.linalg.norm(gradients[name] - want) < 0.1 * np.linalg.norm(want) + 1e-2, name


def test_pretraining_gives_the_same_answers():
    """The heads above take what comes back as they take a padded batch."""

    def answers(**settings):
        model = Pretraining().build_model(encoder(**settings))
        positions = np.minimum(np.array([[1, 3]]), np.array(LENGTHS)[:, None] - 1).astype(np.int32)
        return model(inputs_of(model) | {"masked_lm_positions": positions}, training=True)

    expected, outputs = answers(), answers(packed=True)
    assert expected.keys() == outputs.keys() == {"masked_lm_logits", "next_sentence_logits"}
    for name, value in expected.items():
        np.testing.assert_allclose(outputs[name], value, atol=5e-6)


def test_hidden_states_of_packed_rows_are_those_of_the_padded_batch_and_0_at_padding():
    model = encoder(packed=True)
    states = model.with_outputs("hidden_states")(inputs_of(model))["hidden_states"]
    want = encoder().with_outputs("hidden_states")(batch())["hidden_states"]
    for got, expected in zip(states, want, strict=True):
        np.testing.assert_allclose(got, expected * batch()["input_mask"][:, :, None], atol=2e-6)
    with pytest.raises(ValueError, match="gives attention_probabilities only with packed=False"):
        encoder(packed=True, outputs=("attention_probabilities",))


@pytest.mark.slow
def test_compiled_kernels_give_the_same_answers_and_gradients(plain, monkeypatch):
    monkeypatch.setattr(Kernel, "compiled", True)
    tf.config.run_functions_eagerly(False)  # the last test, and the one with a graph
    compare(answer_and_gradients(encoder(packed=True, recompute=True), True), plain)
