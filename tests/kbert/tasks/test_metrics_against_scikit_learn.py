"""Scores on random predictions, beside scikit-learn's and SciPy's."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats
from sklearn import metrics as sklearn_metrics

from kbert.features import LABEL_FEATURE
from kbert.runs.best_checkpoint import BestCheckpoint
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from kbert.tasks.task import Predictions
from kbert.training.evaluation_step import means
from tests.naming import naming


def judged(true, predicted, number, parts=1):
    """The metrics of a classification whose evaluation came in `parts` batches."""
    task = SequenceClassification([str(label) for label in range(number)])
    sums = None
    for labels, said in zip(np.array_split(true, parts), np.array_split(predicted, parts), strict=True):
        batch = {"input_ids": tf.zeros((len(labels), 1), tf.int32), LABEL_FEATURE: tf.constant(labels)}
        new = task.metric_sums({"logits": tf.one_hot(said, number) * 3.0}, batch)
        sums = new if sums is None else tf.nest.map_structure(tf.add, sums, new)
    return task.summarize(means(sums))


def random_answers(rng, number):
    size = int(rng.integers(1, 60))
    true = rng.integers(0, number, size).astype(np.int32)
    predicted = np.where(rng.random(size) < rng.random(), true, rng.integers(0, number, size))
    return true, predicted.astype(np.int32)


@pytest.mark.filterwarnings("ignore:.*single label.*:UserWarning")
@pytest.mark.parametrize("number", [2, 5, 300])
def test_classification_is_scored_as_scikit_learn_does(number):
    rng = np.random.default_rng(number)
    for trial in range(12):
        true, predicted = random_answers(rng, number)
        with naming(trial, true.tolist(), predicted.tolist()):
            metrics = judged(true, predicted, number, parts=min(3, len(true)))
            assert metrics["accuracy"] == pytest.approx(sklearn_metrics.accuracy_score(true, predicted))
            matthews = sklearn_metrics.matthews_corrcoef(true, predicted)
            assert metrics["matthews"] == pytest.approx(matthews, abs=1e-12)
            average = "binary" if number == 2 else "macro"
            f1 = sklearn_metrics.f1_score(true, predicted, average=average, zero_division=0)
            assert metrics["f1"] == pytest.approx(f1, abs=1e-12)
            assert ("confusion" in metrics) == (number < 300)


def correlations(said, true):
    values = {"prediction": np.asarray(said, np.float32), "targets": np.asarray(true, np.float32)}
    return SequenceRegression().score(None, Predictions(values, np.arange(len(said))))


def test_regression_is_scored_as_scipy_does_on_all_rows_together():
    rng = np.random.default_rng(7)
    for _ in range(20):
        size = int(rng.integers(2, 50))
        true = rng.integers(0, 6, size) + [0, 5][: min(2, size)][0]
        true[0] += 1 + np.ptp(true)  # never all the same
        said = (true * rng.normal() + rng.normal(size=size)).round(1).astype(np.float32)
        said[-1] += 1 + np.ptp(said)
        score = correlations(said, true)
        assert score["pearson"] == pytest.approx(np.corrcoef(said, true)[0, 1], abs=1e-6)
        ranks = stats.rankdata(said), stats.rankdata(true)
        assert score["spearman"] == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-9)


def test_ties_stay_ties_whatever_rounding_did_to_them():
    rng = np.random.default_rng(8)
    said, true = rng.integers(0, 9, 50) / 8, rng.integers(0, 6, 50)
    noisy = said * (1 + rng.uniform(-2e-7, 2e-7, 50))
    assert stats.spearmanr(noisy, true).statistic != pytest.approx(
        stats.spearmanr(said, true).statistic, abs=1e-4
    )
    assert correlations(noisy, true)["spearman"] == pytest.approx(
        stats.spearmanr(said, true).statistic, abs=1e-9
    )


def test_numbers_one_step_apart_are_ties_wherever_they_lie():
    rng = np.random.default_rng(3)
    said = np.repeat(rng.uniform(0, 5, 200).astype(np.float32), 2)
    noisy, true = np.where(np.arange(400) % 2, np.nextafter(said, np.float32(9)), said), rng.random(400)
    assert correlations(noisy, true)["spearman"] == correlations(said, true)["spearman"]


def test_numbers_that_lie_densely_keep_their_ranks():
    said = np.linspace(0.9999, 1, 2000)
    true = said + np.random.default_rng(4).normal(0, 2e-5, 2000)
    expected = stats.spearmanr(said, true).statistic
    assert correlations(said, true)["spearman"] == pytest.approx(expected, abs=1e-4)


def test_small_numbers_beside_a_large_one_keep_their_ranks():
    rng = np.random.default_rng(9)
    logits = np.append(rng.normal(-16, 2, 999), 4)
    true = logits + rng.normal(size=1000)
    expected = stats.spearmanr(logits, true).statistic
    assert correlations(1 / (1 + np.exp(-logits)), true)["spearman"] == pytest.approx(expected, abs=1e-6)


def test_constant_predictions_are_the_worst_and_said_to_be(caplog):
    worst = correlations(np.full(9, 2.5), np.arange(9))
    assert correlations(np.nextafter(np.float32(1), [0, 2] * 4, dtype=np.float32), np.arange(8)) == worst
    assert worst == {"pearson": -1.0, "spearman": -1.0}
    assert "All 9 predictions are 2.5: no correlation is defined, and the worst one, -1" in caplog.text
    best = BestCheckpoint("pearson", higher_is_better=True)
    assert best.observe(10, worst) and best.observe(20, correlations([3.0, 1.0, 2.0], [1.0, 2.0, 3.0]))
    assert not best.observe(30, worst) and best.step == 20


@pytest.mark.parametrize(("said", "true"), [([1.0, 2.0], [3.0, 3.0]), ([1.0], [2.0])])
def test_labels_that_are_all_the_same_say_nothing_about_a_model(said, true):
    score = correlations(said, true)
    assert np.isnan(score["pearson"]) and np.isnan(score["spearman"])
    best = BestCheckpoint("pearson", higher_is_better=True)
    assert not best.observe(1, score) and best.step is None
