"""The loss over in-batch negatives against NumPy: pairs, triplets, both directions, rows left out."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.features import EXAMPLE_WEIGHTS, TARGET_FEATURE
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from kbert.tasks.task import ALL_REPLICAS
from tests.kbert.tasks.test_losses import evaluate, log_softmax

ROWS, WIDTH = 6, 5
LONG_XLA = pytest.param(tf.function(jit_compile=True), id="XLA", marks=pytest.mark.long)


def case(num_texts, seed=1, weights=None, scores=None):
    """(outputs, batch) with random embeddings."""
    rng = np.random.default_rng(seed)
    batch = {
        "input_ids": np.zeros((ROWS, num_texts, 4), np.int32),
        TARGET_FEATURE: np.full(ROWS, np.nan, np.float32) if scores is None else np.float32(scores),
        EXAMPLE_WEIGHTS: np.ones(ROWS, np.float32) if weights is None else np.float32(weights),
    }
    return {"embeddings": rng.normal(size=(ROWS, num_texts, WIDTH)).astype(np.float32)}, batch


def reference(embeddings, scale, symmetric):
    """The definition, in float64: mean loss, and the share of queries that find their positive."""
    texts = embeddings.astype(np.float64)
    texts /= np.linalg.norm(texts, axis=-1, keepdims=True)
    candidates = np.concatenate([texts[:, place] for place in range(1, texts.shape[1])])
    logits = scale * texts[:, 0] @ candidates.T
    rows = np.arange(len(texts))
    loss = -log_softmax(logits)[rows, rows].mean()
    if symmetric:
        loss = (loss - log_softmax(scale * texts[:, 1] @ texts[:, 0].T)[rows, rows].mean()) / 2
    return loss, np.mean(logits.argmax(axis=1) == rows)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("num_texts", [2, 3, 4])
@pytest.mark.parametrize("scale", [20.0, 1.5])
def test_loss_and_accuracy_are_the_definitions(num_texts, symmetric, scale):
    outputs, batch = case(num_texts)
    task = MultipleNegativesRanking(num_negatives=num_texts - 2, scale=scale, symmetric=symmetric)
    metrics = evaluate(task, outputs, batch)
    loss, accuracy = reference(outputs["embeddings"], scale, symmetric)
    assert metrics == {"loss": pytest.approx(loss, rel=1e-5), "batch_accuracy": pytest.approx(accuracy)}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(
    "excluded",
    [{"weights": [1, 1, 0, 1, 1, 0]}, {"scores": [np.nan, np.nan, 0.3, np.nan, np.nan, 1.0]}],
    ids=["rows that fill the batch", "rows with a score"],
)
def test_rows_that_do_not_count_are_neither_queries_nor_negatives(symmetric, excluded):
    outputs, batch = case(3, **excluded)
    metrics = evaluate(MultipleNegativesRanking(num_negatives=1, symmetric=symmetric), outputs, batch)
    loss, accuracy = reference(outputs["embeddings"][[0, 1, 3, 4]], 20.0, symmetric)
    assert metrics == {"loss": pytest.approx(loss, rel=1e-5), "batch_accuracy": pytest.approx(accuracy)}


def require_replicas_add_up(task, outputs, batch):
    """What the step of each replica sums, with the rows of both, as `with_coupled_rows` gives them."""
    everyone, sums = {name: tf.constant((outputs | batch)[name]) for name in task.coupled}, []
    for part in (slice(0, 2), slice(2, None)):
        own = {"embeddings": tf.constant(outputs["embeddings"][part])}
        own[ALL_REPLICAS] = everyone | {"first_row": tf.constant(part.start)}
        rows = {name: tf.constant(value[part]) for name, value in batch.items()}
        sums.append((task.loss_sums(own, rows)["loss"], *task.metric_sums(own, rows)["batch_accuracy"]))
    whole = task.loss_sums(outputs, batch)["loss"], *task.metric_sums(outputs, batch)["batch_accuracy"]
    np.testing.assert_allclose(np.sum(sums, axis=0), whole, rtol=1e-5)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_parts_of_two_replicas_add_up_to_the_whole(symmetric):
    task = MultipleNegativesRanking(num_negatives=1, symmetric=symmetric)
    require_replicas_add_up(task, *case(3, weights=[1, 1, 1, 1, 1, 0]))


@pytest.mark.parametrize("way", [lambda function: function, LONG_XLA])
def test_an_embedding_of_zeros_gives_finite_gradients(way):
    """A row that only fills the batch, all of it padding, is pooled to zeros."""
    outputs, batch = case(2, weights=[1, 1, 1, 1, 1, 0])
    outputs["embeddings"][5] = 0.0

    @way
    def gradient(embeddings):
        with tf.GradientTape() as tape:
            tape.watch(embeddings)
            loss = MultipleNegativesRanking().loss_sums({"embeddings": embeddings}, batch)["loss"]
        return tape.gradient(loss, embeddings)

    found = gradient(tf.constant(outputs["embeddings"])).numpy()
    assert np.isfinite(found).all() and found[:5].any() and not found[5].any()
