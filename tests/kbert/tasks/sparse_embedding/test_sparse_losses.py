"""The losses of SPLADE against NumPy: dot products, FLOPS with its ramp, MarginMSE; words; scores."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from scipy import sparse

from kbert.config import DatasetConfig, FinetuningConfig
from kbert.config.pooling_config import SIMILARITY_FUNCTIONS
from kbert.features import EXAMPLE_WEIGHTS, TARGET_FEATURE, TEACHER_SCORES
from kbert.tasks.late_interaction.late_interaction import LateInteraction
from kbert.tasks.sequences.number_files import NumberFiles
from kbert.tasks.similarity.in_batch_loss import COUPLED
from kbert.tasks.similarity.retrieval_scores import retrieval_scores
from kbert.tasks.similarity.text_groups import TaughtFiles, TaughtGroup, TextGroup
from kbert.tasks.similarity.text_similarities import DenseSimilarities
from kbert.tasks.similarity.vectors import similarities
from kbert.tasks.sparse_embedding import sparse_similarities
from kbert.tasks.sparse_embedding.sparse_embedding import SparseEmbedding
from kbert.tasks.sparse_embedding.sparse_vectors import SparseVectors
from kbert.tasks.task import ALL_REPLICAS, Predictions
from tests.conftest import tiny_encoder_config
from tests.kbert.tasks.test_losses import evaluate, log_softmax

ROWS, WORDS = 6, 9


def case(num_texts=3, weights=(1, 1, 1, 1, 1, 0), **features):
    """(outputs, batch) of random weights of words, half of them 0."""
    rng = np.random.default_rng(num_texts)
    batch = {
        "input_ids": np.zeros((ROWS, num_texts, 4), np.int32),
        TARGET_FEATURE: np.full(ROWS, np.nan, np.float32),
        EXAMPLE_WEIGHTS: np.float32(weights),
    }
    embeddings = np.maximum(rng.normal(size=(ROWS, num_texts, WORDS)), 0).astype(np.float32)
    return {"embeddings": embeddings}, batch | features


def flops(texts):
    return np.sum(np.mean(texts.reshape(-1, WORDS).astype(np.float64), axis=0) ** 2)


@pytest.mark.parametrize("num_texts", [2, 3, 4])
def test_losses_and_metrics_are_the_definitions(num_texts):
    outputs, batch = case(num_texts)
    metrics = evaluate(SparseEmbedding(num_negatives=num_texts - 2), outputs, batch)
    texts = outputs["embeddings"][:5].astype(np.float64)
    candidates = np.concatenate([texts[:, place] for place in range(1, num_texts)])
    logits = texts[:, 0] @ candidates.T
    assert metrics == {
        "loss": pytest.approx(-np.diag(log_softmax(logits)).mean(), rel=1e-5),
        "batch_accuracy": pytest.approx(np.mean(logits.argmax(axis=1) == np.arange(5))),
        "query_flops": pytest.approx(flops(texts[:, 0]), rel=1e-5),
        "document_flops": pytest.approx(flops(texts[:, 1:]), rel=1e-5),
        "query_words": pytest.approx((texts[:, 0] > 0).sum(axis=-1).mean()),
        "document_words": pytest.approx((texts[:, 1:] > 0).sum(axis=-1).mean()),
    }


def test_margins_are_a_teachers():
    scores = np.random.default_rng(1).normal(size=(ROWS, 3)).astype(np.float32)
    scores[1] = np.nan  # a row that no teacher has seen
    outputs, batch = case(4, **{TEACHER_SCORES: scores})
    task = SparseEmbedding(num_negatives=2, is_taught=True)
    own = np.einsum("rw,rtw->rt", outputs["embeddings"][:, 0], outputs["embeddings"][:, 1:])
    margins = (own[:, :1] - own[:, 1:]) - (scores[:, :1] - scores[:, 1:])
    expected = np.mean(margins[[0, 2, 3, 4]] ** 2)
    assert evaluate(task, outputs, batch)["loss"] == pytest.approx(expected, rel=1e-5)


def test_the_weight_of_flops_rises_with_the_square_for_a_third_of_the_training():
    task = SparseEmbedding(lambda_q=2.0, lambda_d=3.0)
    found = [float(task.loss_factor("query_flops", share)) for share in (0.0, 1 / 12, 1 / 6, 1 / 3, 0.8)]
    assert found == pytest.approx([0.0, 2 / 16, 2 / 4, 2.0, 2.0])
    assert float(task.loss_factor("document_flops", tf.constant(1 / 6))) == pytest.approx(3 / 4)
    assert task.loss_factor("loss", 0.1) == 1.0


@pytest.mark.parametrize("name", ["query_flops", "document_flops"])
def test_the_parts_of_two_replicas_add_up_to_the_whole_with_its_gradient(name):
    outputs, batch = case()
    task, texts = SparseEmbedding(num_negatives=1), tf.constant(outputs["embeddings"])

    def part(embeddings, first):
        rows = slice(first, first + 3)
        everyone = {key: tf.constant((outputs | batch)[key]) for key in COUPLED} | {"embeddings": embeddings}
        own = {"embeddings": embeddings[rows], ALL_REPLICAS: everyone | {"first_row": tf.constant(first)}}
        return task.loss_sums(own, {key: tf.constant(value[rows]) for key, value in batch.items()})[name]

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(texts)
        whole = task.loss_sums({"embeddings": texts}, batch)[name]
        parts = part(texts, 0) + part(texts, 3)
    np.testing.assert_allclose(parts, whole, rtol=1e-5)
    np.testing.assert_allclose(tape.gradient(parts, texts), tape.gradient(whole, texts), rtol=1e-4, atol=1e-6)


def test_nothing_is_said_of_rows_that_are_not_there():
    scored = np.linspace(0, 1, ROWS, dtype=np.float32)
    outputs, batch = case(**{TARGET_FEATURE: scored})
    assert evaluate(SparseEmbedding(num_negatives=1), outputs, batch) == {}
    outputs, batch = case(**{TEACHER_SCORES: np.full((ROWS, 2), np.nan, np.float32)})
    task = SparseEmbedding(num_negatives=1, is_taught=True)
    metrics = evaluate(task, outputs, batch)
    assert "loss" not in metrics and metrics["query_words"] > 0
    with pytest.raises(ValueError, match="best_metric=loss is of a teacher's scores"):
        task.check_metric("loss", [TextGroup(("q", "p", "n"), None)])


def test_evaluations_have_the_words_of_answers():
    outputs, batch = case(weights=[1] * ROWS)
    task = SparseEmbedding({"max_active_dims": 2}, num_negatives=1)
    kept = task.keep({"embeddings": outputs["embeddings"]})["embeddings"]
    answered = SparseVectors(task).answers(outputs["embeddings"][:, 0])
    for row, answer, whole in zip(kept, answered, outputs["embeddings"][:, 0], strict=True):
        largest = np.where(whole >= np.sort(whole)[-2], whole, 0)
        np.testing.assert_array_equal(row.toarray()[0], largest)
        np.testing.assert_array_equal(answer.toarray()[0], largest)
    assert evaluate(task, outputs, batch)["query_words"] == pytest.approx(2)


def test_scores_are_those_of_the_dense_vectors():
    """What an evaluation keeps is sparse."""
    outputs, batch = case(weights=[1] * ROWS)
    embeddings, task = outputs["embeddings"], SparseEmbedding(num_negatives=1)
    kept = task.keep({"embeddings": embeddings, TARGET_FEATURE: batch[TARGET_FEATURE]})
    assert all(isinstance(row, sparse.csr_array) for row in kept["embeddings"])
    found = task.score(None, Predictions(kept, np.arange(ROWS)))
    assert found == pytest.approx(retrieval_scores(DenseSimilarities(embeddings, "dot")), rel=1e-5)
    kept[TARGET_FEATURE] = np.linspace(0, 1, ROWS)
    dots = np.sum(embeddings[:, 0] * embeddings[:, 1], axis=-1)
    expected = np.corrcoef(dots, kept[TARGET_FEATURE])[0, 1]
    assert task.score(None, Predictions(kept, np.arange(ROWS)))["pearson"] == pytest.approx(
        expected, rel=1e-4
    )


@pytest.mark.parametrize("function", SIMILARITY_FUNCTIONS)
def test_similarities_are_those_of_the_dense_vectors_without_a_dense_matrix_of_all_texts(
    function, monkeypatch
):
    most, toarray = [], sparse.csr_array.toarray
    monkeypatch.setattr(sparse_similarities, "_TEXTS_AT_ONCE", 2)
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda self: most.append(self.shape) or toarray(self))
    dense = np.random.default_rng(3).uniform(-1, 1, (8, 9)).clip(0).astype(np.float32)
    dense[4] = 0
    queries, texts = dense[:3], dense[3:]
    found = sparse_similarities.sparse_similarities(
        sparse.csr_array(queries), sparse.csr_array(texts), function
    )
    np.testing.assert_allclose(found, similarities(queries, texts, function), atol=1e-6)
    assert found.dtype == np.float32 and all(shape == (3, 5) or shape[0] <= 3 for shape in most)
    assert sparse_similarities.sparse_similarities(
        sparse.csr_array(queries), sparse.csr_array(texts[:0]), function
    ).shape == (3, 0)


def test_rows_of_a_teacher(tmp_path):
    dataset = DatasetConfig(text_pair="text_pair", negatives=("negative_1",), scores="scores")
    row = '{"text": "q", "text_pair": "p", "negative_1": "n", "scores": %s}\n'
    (tmp_path / "rows.jsonl").write_text(row % "[9, -1.5]")
    files, task = TaughtFiles(), SparseEmbedding.from_dataset(dataset)
    examples = list(files.read_examples(tmp_path / "rows.jsonl", dataset))
    assert examples == [TaughtGroup(("q", "p", "n"), None, (9.0, -1.5))]
    assert task.get_config()["is_taught"] and task.features(8)[TEACHER_SCORES].shape == (2,)
    for wrong in ("[9]", '["nine", 1]', "[null, 1]", "9", "[1e39, 1]"):
        (tmp_path / "wrong.jsonl").write_text(row % wrong)
        with pytest.raises(
            ValueError, match="line 1.*dataset.scores='scores' is .*; expected a list of 2 finite"
        ):
            list(files.read_examples(tmp_path / "wrong.jsonl", dataset))
    (tmp_path / "both.jsonl").write_text('{"text": "q", "text_pair": "p", "negative_1": "n", "label": 1}\n')
    for both in (files, NumberFiles()):
        with pytest.raises(ValueError, match="line 1 has a score .*and negatives .'negative_1'"):
            list(both.read_examples(tmp_path / "both.jsonl", dataset))
    config = FinetuningConfig(task="sparse_embedding", dataset=dataset, train_batch_size=1)
    with pytest.raises(ValueError, match="training example 1 has no column 'scores'"):
        task.check_training(config, [TextGroup(("q", "p", "n"), None)])
    with pytest.raises(ValueError, match="dataset.negatives is empty"):
        SparseEmbedding(is_taught=True).check_training(config, examples)
    # Rows that learn from their own texts may share a batch, and micro-batches share no FLOPS.
    task.check_training(dataclasses.replace(config, train_batch_size=4), examples * 4)
    assert files.texts_apart(examples * 4) is None
    changes = {"encoder": tiny_encoder_config(), "train_batch_size": 4, "gradient_accumulation_steps": 2}
    parts = dataclasses.replace(config, **changes)
    with pytest.raises(ValueError, match="steps=2: query_flops and document_flops of sparse_embedding are"):
        task.check_training(parts, examples * 4)
    LateInteraction.from_dataset(dataset).with_pooling(None).check_training(parts, examples * 4)


def test_queries_and_documents_have_their_prompts():
    prompts = {"query": "q: ", "document": "d: "}
    assert SparseEmbedding({"prompts": prompts}, num_negatives=1).prompts == ["q: ", "d: ", "d: "]
