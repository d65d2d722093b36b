"""The temperature of probabilities: the minimum of SciPy's search, and errors bin by bin."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax

from kbert.features import LABEL_FEATURE
from kbert.tasks.sequences.multiple_choice import MultipleChoice
from kbert.tasks.task import Predictions
from kbert.tasks.temperature import SIGMOID, SOFTMAX, Temperature, best_temperature, calibration_error
from tests.kbert.tasks.pages.test_sections import calibration_error_by_loops


def nll(logits, labels, temperature, kind):
    if kind == SOFTMAX:
        return -np.take_along_axis(log_softmax(logits / temperature, axis=1), labels[:, None], 1).mean()
    return np.logaddexp(0.0, np.where(labels, -logits, logits) / temperature).mean()


def drawn(kind, true_temperature, number=2000):
    """(logits, labels that are drawn from them at a temperature)."""
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(number, 4)) * 3.0
    if kind == SIGMOID:
        return logits, (rng.random(logits.shape) < expit(logits / true_temperature)).astype(np.int32)
    rates = softmax(logits / true_temperature, axis=1).cumsum(axis=1)
    return logits, np.minimum((rng.random((number, 1)) > rates).sum(axis=1), 3).astype(np.int32)


@pytest.mark.parametrize("kind", [SOFTMAX, SIGMOID])
@pytest.mark.parametrize("true_temperature", [0.4, 1.0, 3.0, 20.0])
def test_the_temperature_is_where_scipy_finds_the_least_loss(kind, true_temperature):
    logits, labels = drawn(kind, true_temperature)
    found = best_temperature(logits, labels, kind)
    searched = minimize_scalar(
        lambda log: nll(logits, labels, np.exp(log), kind), bounds=(-4.6, 4.6), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    assert found == pytest.approx(np.exp(searched.x), rel=1e-4)
    assert nll(logits, labels, found, kind) <= searched.fun + 1e-12
    if true_temperature < 10:
        assert found == pytest.approx(true_temperature, rel=0.15)


def test_where_no_temperature_is_best_it_stays_as_it_is():
    logits = np.array([[2.0, 0.0], [0.0, 3.0]], np.float32)
    assert best_temperature(logits, np.array([0, 1])) == 1.0  # all right: the colder the better
    assert best_temperature(logits, np.array([1, 0])) == 1.0  # all wrong: the hotter the better
    assert best_temperature(logits, np.array([[1, 0], [0, 1]]), SIGMOID) == 1.0
    assert best_temperature(np.zeros((3, 2)), np.array([0, 1, 1])) == 1.0
    assert Temperature(2.5).metrics(logits, np.array([0, 1]))["chosen_temperature"] == 2.5  # as it was


@pytest.mark.parametrize("kind", [SOFTMAX, SIGMOID])
def test_the_error_before_and_after_is_that_of_the_paper(kind):
    logits, labels = drawn(kind, 3.0, number=400)
    metrics = Temperature(0.5, kind).metrics(logits, labels)
    assert metrics["temperature"] == 0.5 and metrics["chosen_temperature"] == best_temperature(
        logits, labels, kind
    )
    for name, temperature in (("", 0.5), ("chosen_", metrics["chosen_temperature"])):
        if kind == SOFTMAX:
            likely = softmax(logits / temperature, axis=1)
            sure, right = likely.max(axis=1), likely.argmax(axis=1) == labels
        else:
            likely = expit(logits / temperature)
            sure, right = np.maximum(likely, 1 - likely).ravel(), ((likely >= 0.5) == labels).ravel()
        expected = calibration_error_by_loops(sure.tolist(), right.tolist(), 15)
        assert metrics[f"{name}calibration_error"] == pytest.approx(expected, abs=1e-6)
    assert metrics["chosen_calibration_error"] < metrics["calibration_error"] / 2
    assert not MultipleChoice().higher_is_better("calibration_error")


def test_multiple_choice_keeps_its_temperature():
    logits, labels = drawn(SOFTMAX, 3.0)
    task = MultipleChoice(4)
    metrics = task.score(None, Predictions({"logits": logits, LABEL_FEATURE: labels}, np.arange(len(labels))))
    assert task.chosen(metrics) == {"temperature": best_temperature(logits, labels)}
    kept = MultipleChoice(**task.get_config() | task.chosen(metrics))
    assert kept.get_config()["temperature"] == kept.settings.temperature == metrics["chosen_temperature"]
    likely = np.asarray(kept.temperature.probabilities(logits))
    assert calibration_error(likely, labels) == pytest.approx(metrics["chosen_calibration_error"])
