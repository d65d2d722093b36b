"""The losses of late interaction against NumPy, and how its queries and documents are tokenized to train."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from kbert import BertEncoder
from kbert.cli.warn_once import warn_once
from kbert.config import FinetuningConfig
from kbert.config.token_vectors_config import QueryExpansion, TokenVectorsConfig
from kbert.features import EXAMPLE_WEIGHTS, SCORED_TOKENS, TARGET_FEATURE, TEACHER_SCORES
from kbert.input_pipelines.batches import trim_padding
from kbert.tasks.late_interaction.late_interaction import LateInteraction
from kbert.tasks.late_interaction.maxsim import maxsim, maxsim_of_all, maxsim_of_pairs
from kbert.tasks.similarity.text_groups import TextGroup
from kbert.tokenization.text_inputs import TextInputs
from tests.conftest import tiny_encoder_config
from tests.kbert.tasks.similarity.test_in_batch_loss import LONG_XLA, require_replicas_add_up
from tests.kbert.tasks.test_losses import evaluate, log_softmax
from tests.tfrecords_tools import small_corpus

ROWS, LENGTH, WIDTH = 5, 6, 3
EXPANSION = {"query_expansion": {"length": 9}, "skiplist_words": ["a"], "prompts": {"query": "play "}}


def case(num_texts, seed=3, weights=(1, 1, 1, 1, 1), scores=None):
    """(outputs, batch) with random vectors, of which each text has its own number."""
    rng = np.random.default_rng(seed)
    batch = {
        "input_ids": np.zeros((ROWS, num_texts, LENGTH), np.int32),
        TARGET_FEATURE: np.full(ROWS, np.nan, np.float32),
        EXAMPLE_WEIGHTS: np.float32(weights),
        SCORED_TOKENS: (rng.random((ROWS, num_texts, LENGTH)) < 0.6).astype(np.int32),
    }
    batch[SCORED_TOKENS][..., 0] = 1
    if scores is not None:
        batch[TEACHER_SCORES] = np.float32(scores)
    return {"embeddings": rng.normal(size=(ROWS, num_texts, LENGTH, WIDTH)).astype(np.float32)}, batch


def similar(query, query_mask, document, document_mask):
    """The definition: a loop over the tokens of the query."""
    rows = [vector for vector, mask in zip(query, query_mask, strict=True) if mask]
    others = [vector for vector, mask in zip(document, document_mask, strict=True) if mask]
    return sum(max(float(np.dot(one, other)) for other in others) for one in rows)


def all_similarities(outputs, batch, rows):
    """float64 (queries, positives of all rows, then negatives)."""
    vectors, masks = outputs["embeddings"], batch[SCORED_TOKENS]
    places = [(row, 1) for row in rows]
    places += [(row, place) for row in rows for place in range(2, vectors.shape[1])]
    return np.array(
        [[similar(vectors[row, 0], masks[row, 0], vectors[p], masks[p]) for p in places] for row in rows]
    )


@pytest.mark.parametrize("weights", [(1, 1, 1, 1, 1), (1, 0, 1, 1, 0)])
@pytest.mark.parametrize("num_texts", [2, 4])
def test_the_loss_is_the_cross_entropy_of_maxsim(num_texts, weights):
    outputs, batch = case(num_texts, weights=weights)
    metrics = evaluate(LateInteraction(num_negatives=num_texts - 2), outputs, batch)
    logits = all_similarities(outputs, batch, np.flatnonzero(weights))
    right = np.arange(len(logits))
    assert metrics == {
        "loss": pytest.approx(-log_softmax(logits)[right, right].mean(), rel=1e-5),
        "batch_accuracy": pytest.approx(np.mean(logits.argmax(axis=1) == right)),
    }


def test_a_teachers_scores_are_learnt_by_the_divergence_of_two_softmaxes():
    """Of the rows that have them, which are real."""
    scores = np.random.default_rng(8).normal(size=(ROWS, 3)) * 4
    scores[3] = np.nan
    outputs, batch = case(4, weights=(1, 1, 1, 1, 0), scores=scores)
    vectors, masks, divergences = outputs["embeddings"], batch[SCORED_TOKENS], []
    for row in range(3):
        own = [similar(vectors[row, 0], masks[row, 0], vectors[row, p], masks[row, p]) for p in range(1, 4)]
        p, q = (np.exp(log_softmax(np.array([values])))[0] for values in (scores[row], own))
        divergences.append(np.sum(p * np.log(p / q)))
    found = evaluate(LateInteraction(num_negatives=2, is_taught=True), outputs, batch)["loss"]
    assert found == pytest.approx(np.mean(divergences), rel=1e-4)


def test_the_parts_of_two_replicas_add_up_to_the_whole():
    require_replicas_add_up(LateInteraction(num_negatives=1), *case(3, weights=(1, 1, 1, 1, 0)))


@pytest.mark.parametrize("way", [lambda function: function, LONG_XLA])
def test_the_gradient_that_computes_the_products_anew_is_the_gradient(way):
    outputs, batch = case(3)
    scored = batch[SCORED_TOKENS].astype(np.float32)[..., None]
    texts = tf.constant(np.concatenate([outputs["embeddings"], scored], axis=-1))
    weights = tf.constant(np.random.default_rng(1).normal(size=(ROWS, 2 * ROWS)).astype(np.float32))

    def split(values):
        return values[..., :-1], values[..., -1]

    def at_once(queries, documents):
        return maxsim_of_pairs(*split(queries[:, None]), *split(documents[None]))

    def gradient(compare):
        @way
        def of(texts):
            with tf.GradientTape() as tape:
                tape.watch(texts)
                documents = tf.reshape(texts[:, 1:], (2 * ROWS, LENGTH, WIDTH + 1))
                loss = tf.reduce_sum(compare(texts[:, 0], documents) * weights)
            return tape.gradient(loss, texts)[..., :-1]

        return of(texts).numpy()

    np.testing.assert_allclose(gradient(maxsim_of_all), gradient(at_once), atol=1e-5)


def test_tensors_have_the_similarities_of_lists():
    outputs, batch = case(2)
    queries, documents = (outputs["embeddings"][:, place] for place in (0, 1))
    masks = batch[SCORED_TOKENS]
    masks[2, 1] = 0  # a document without tokens
    lists = [
        [text[mask == 1] for text, mask in zip(texts, masks[:, place], strict=True)]
        for place, texts in enumerate((queries, documents))
    ]
    for is_mean in (False, True):
        found = maxsim_of_pairs(queries, masks[:, 0], documents, masks[:, 1], is_mean)
        np.testing.assert_allclose(found, np.diag(maxsim(*lists, is_mean)), rtol=1e-5)


def test_texts_are_tokenized_as_queries_and_documents(caplog):
    warn_once.cache_clear()
    task = LateInteraction(EXPANSION, num_negatives=1)
    inputs = TextInputs(small_corpus.vocabulary(), 16)
    rows = task.examples_to_features([TextGroup(("jump", "the a", "walk"), None)], inputs).features
    assert {name: value.shape[1:] for name, value in rows.items()} == {
        name: feature.shape for name, feature in task.features(16).items()
    }
    mask_id, plain = (inputs.vocabulary.tokens.index(token) for token in ("[MASK]", "a"))
    query, document = rows["input_ids"][0, :2]
    assert (query == mask_id).tolist() == [False] * 4 + [True] * 5 + [False] * 7
    assert rows["input_mask"][0].sum(axis=-1).tolist() == [4, 4, 3]
    assert rows[SCORED_TOKENS][0].sum(axis=-1).tolist() == [9, 3, 3]
    assert plain in document and not rows[SCORED_TOKENS][0, 1][document == plain].any()
    assert not task.can_pack and LateInteraction().can_pack
    assert "begin with it already" not in caplog.text
    task.examples_to_features([TextGroup(("play jump", "the a"), None)], inputs)
    assert "prompt 'play ' is put before texts most of which begin with it already" in caplog.text


def test_what_fills_a_query_is_never_cut_off():
    batch = {name: tf.zeros((2, 2, 40), tf.int32) for name in ("input_ids", "segment_ids")}
    batch["input_mask"] = tf.cast(tf.range(40) < 5, tf.int32) + tf.zeros((2, 2, 1), tf.int32)
    batch[SCORED_TOKENS] = tf.cast(tf.range(40) < 20, tf.int32) + tf.zeros((2, 2, 1), tf.int32)
    assert {value.shape[-1] for value in trim_padding(batch).values()} == {32}


def test_an_encoder_alone_becomes_a_colbert():
    task = LateInteraction(query_length=7).with_pooling(None)
    assert task.pooling == TokenVectorsConfig.colbert(7).__class__(
        **task.get_config()["further_pooling"], normalize=True, query_length=7
    )
    assert (task.pooling.width(16), task.pooling.query_expansion.length) == (128, 7)
    again = LateInteraction(**task.get_config())
    assert again.pooling == task.pooling == again.with_pooling(None).pooling
    own = TokenVectorsConfig(document_length=5)
    assert LateInteraction().with_pooling(own).pooling == own


def test_another_length_than_the_fixed_one_of_queries_is_refused():
    fixed = TokenVectorsConfig(query_expansion=QueryExpansion(16))
    for length in (8, 32):
        with pytest.raises(ValueError, match=f"query_length={length}, but .* to 16 tokens; leave it out"):
            LateInteraction(query_length=length).with_pooling(fixed)
    for pooling, length, longest in (
        (fixed, None, 16),
        (fixed, 16, 16),
        (replace(fixed, query_length=20), 20, 16),
        (TokenVectorsConfig(query_expansion=QueryExpansion(16, "min")), 32, 32),
    ):
        task = LateInteraction(query_length=length).with_pooling(pooling)
        assert task.pooling.longest("query", 64) == longest
        assert task.with_pooling(task.pooling).pooling == task.pooling


@pytest.mark.parametrize("settings", [{}, {"document_length": 32}])
def test_a_length_beyond_the_positions_is_refused(settings):
    task = LateInteraction(**settings).with_pooling(None)
    examples = [TextGroup((f"a {n}", f"b {n}"), None) for n in range(4)]
    for positions in (32, 31):
        encoder = tiny_encoder_config(max_position_embeddings=positions)
        config = FinetuningConfig(train_batch_size=2, max_seq_length=16, encoder=encoder)
        with pytest.raises(ValueError, match="is 32, but .* 31") if positions < 32 else nullcontext():
            task.check_training(config, examples)
            task.build_model(BertEncoder(encoder))


def test_lengths_of_their_own_may_be_longer_than_the_model_s():
    task = LateInteraction(query_length=9, document_length=20).with_pooling(TokenVectorsConfig())
    rows = task.tokenize(
        [TextGroup(("a " * 30, "the " * 30), None)], TextInputs(small_corpus.vocabulary(), 7)
    )
    assert rows["input_mask"][0].sum(axis=-1).tolist() == [9, 20]
    assert {value.shape[1:] for value in rows.values()} == {task.features(7)["input_ids"].shape}
