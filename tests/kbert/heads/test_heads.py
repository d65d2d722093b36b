"""The heads. The masked-LM head shares the table of the encoder."""

import functools

import keras
import numpy as np
import pytest
import scipy.special
import tensorflow as tf

from kbert.encoder import BertEncoder
from kbert.heads.classification_head import ClassificationHead, SpanHead, TokenClassificationHead
from kbert.heads.masked_lm_head import MaskedLMHead
from kbert.heads.multiple_choice_head import ChoicesAsBatch, MultipleChoiceHead
from kbert.layers.bert_embeddings import BertEmbeddings
from kbert.tasks.pretraining.objectives import Pretraining
from tests.layer_checks import check_layer, layer_config

RNG = np.random.default_rng(6)
HIDDEN = RNG.normal(size=(3, 5, 8)).astype(np.float32)
POSITIONS = np.array([[0, 3], [1, 2], [4, 0]], np.int32)
CHOICES = RNG.integers(0, 11, size=(3, 2, 5)).astype(np.int32)


def built_embeddings(dtype=None):
    embeddings = BertEmbeddings(layer_config(), name="embeddings", dtype=dtype)
    embeddings.build((None, None), (None, None))
    return embeddings


NORMED = {
    "normalize_first": True,
    "pooler_hidden_act": "gelu_erf",
    "layer_norm_eps": 0.1,
    "classifier_bias": False,
    "norm_bias": False,
}


THREE = {"num_labels": 3, "dropout": 0.1}
# Three examples of two choices each. Batch and choices are one axis in the pooled output.
OF_CHOICES = {"pooled_output": RNG.normal(size=(6, 8)).astype(np.float32), "input_ids": CHOICES}


@pytest.mark.parametrize(
    ("head", "settings", "arguments", "inputs", "shape"),
    [
        (ClassificationHead, {}, THREE, {"vectors": HIDDEN[:, 0]}, (3, 3)),
        (TokenClassificationHead, {}, THREE, {"vectors": HIDDEN}, (3, 5, 3)),
        (TokenClassificationHead, NORMED, THREE, {"vectors": HIDDEN}, (3, 5, 3)),
        (SpanHead, {}, {}, {"vectors": HIDDEN}, (3, 2, 5)),
        (SpanHead, NORMED, {}, {"vectors": HIDDEN}, (3, 2, 5)),
        (MultipleChoiceHead, {}, {"dropout": 0.1}, OF_CHOICES, (3, 2)),
    ],
    ids=["texts", "tokens", "ModernBERT's tokens", "spans", "ModernBERT's spans", "choices"],
)
def test_a_head(head, settings, arguments, inputs, shape):
    make = functools.partial(head, layer_config(**settings), name="head", **arguments)
    check_layer(make, inputs, shape, output_dtype="float32")


def test_a_normed_head_is_dense_activation_norm_and_dense():
    head = TokenClassificationHead(layer_config(**NORMED | {"initializer_range": 0.9}), 3)
    head.build(HIDDEN.shape)
    head.layer_norm.gamma.assign(RNG.normal(size=8))
    transform, gamma, kernel, bias = (weight.numpy() for weight in head.weights)
    activated = HIDDEN @ transform
    activated *= 0.5 * (1 + scipy.special.erf(activated / np.sqrt(2)))
    mean, variance = activated.mean(-1, keepdims=True), activated.var(-1, keepdims=True)
    normed = (activated - mean) / np.sqrt(variance + 0.1) * gamma
    np.testing.assert_allclose(head(HIDDEN), normed @ kernel + bias, atol=1e-5)


def test_choices_and_logits_stay_with_their_examples():
    layer = ChoicesAsBatch()
    flat = layer(CHOICES)
    np.testing.assert_array_equal(flat, [row for example in CHOICES for row in example])
    assert flat.dtype == "int32"
    symbolic = layer(keras.KerasTensor((None, None, 5), "int32"))
    assert symbolic.shape == (None, 5) and symbolic.dtype == "int32"
    head = MultipleChoiceHead(layer_config())
    pooled = RNG.normal(size=(6, 8)).astype(np.float32)
    logits = head(pooled, CHOICES).numpy()
    expected = pooled @ head.dense.kernel.numpy()[:, 0]
    np.testing.assert_allclose(logits, [expected[0:2], expected[2:4], expected[4:6]], atol=1e-6)


def test_span_head_columns_are_start_and_end():
    head = SpanHead(layer_config())
    logits = head(HIDDEN).numpy()
    kernel = head.dense.kernel.numpy()
    np.testing.assert_allclose(logits[:, 0], HIDDEN @ kernel[:, 0], atol=1e-6)
    np.testing.assert_allclose(logits[:, 1], HIDDEN @ kernel[:, 1], atol=1e-6)


def test_masked_lm_head():
    def make(dtype=None):
        head = MaskedLMHead(layer_config(), built_embeddings(dtype), name="masked_lm", dtype=dtype)
        # Of the embeddings the head uses one table; the check trains what the head itself owns.
        head.embeddings.trainable = False
        return head

    inputs = {"sequence_output": HIDDEN, "masked_lm_positions": POSITIONS}
    check_layer(make, inputs, (3, 2, 11), output_dtype="float32")


def test_the_gradient_reaches_the_shared_table_from_both_sides(encoder_config):
    model = Pretraining().build_model(BertEncoder(encoder_config))
    tables = [v for v in model.trainable_variables if "word_embeddings" in v.path]
    assert len(tables) == 1, "the table is shared, not copied"
    inputs = {
        "input_ids": tf.constant([[1, 2, 3, 2]]),
        "input_mask": tf.ones((1, 4), tf.int32),
        "segment_ids": tf.zeros((1, 4), tf.int32),
        "masked_lm_positions": tf.constant([[1]]),
    }
    with tf.GradientTape() as tape:
        # Raises the logit of token 9, which is not among the inputs.
        loss = model(inputs)["masked_lm_logits"][0, 0, 9]
    gradient = tf.convert_to_tensor(tape.gradient(loss, tables[0].value)).numpy()
    moved = set(np.flatnonzero(np.abs(gradient).max(axis=1) > 0))
    assert moved == {1, 2, 3, 9}  # the inputs by the lookup, 9 by the output product
