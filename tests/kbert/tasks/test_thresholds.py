"""Thresholds chosen on development data, beside all thresholds one by one with scikit-learn's scores."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from kbert.features import LABEL_FEATURE
from kbert.tasks.question_answering.question_answering import QuestionAnswering
from kbert.tasks.question_answering.squad_scores import scores_v2
from kbert.tasks.sequences.multi_label_classification import MultiLabelClassification
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.task import Predictions
from kbert.tasks.thresholds import best_threshold
from tests.kbert.inference.random_model import random_task_model
from tests.naming import naming

pytestmark = pytest.mark.usefixtures("eager")

TEXTS = ["jump the a", "walked and talked, opening the play", "turn", "ask the looks", ""]
SCORES = {"f1": lambda true, said: f1_score(true, said, zero_division=0), "accuracy": accuracy_score}


def cut_points(probabilities):
    """Every threshold that parts probabilities that rounding does not swap; with 0, all get the label."""
    ordered = np.unique(probabilities.astype(np.float64))
    apart = np.diff(ordered) > np.minimum(1e-6, 1e-5 * ordered[1:])
    return [0.0, 0.5, *((ordered[1:] + ordered[:-1]) / 2)[apart], *([1.0] if ordered[-1] < 1 - 1e-6 else [])]


@pytest.mark.slow
@pytest.mark.parametrize("metric", SCORES)
def test_no_cut_does_better_where_probabilities_are_near_0_and_1_or_the_same(metric):
    rng = np.random.default_rng(5)
    for trial in range(25):
        number = int(rng.integers(1, 12))
        logits = rng.normal(size=number) * rng.choice([0.01, 1.0, 10.0, 40.0])
        logits = np.where(rng.random(number) < 0.3, rng.choice(logits), logits)  # some are the same
        probabilities = (1 / (1 + np.exp(-logits))).astype(np.float32)
        held = rng.random(number) < rng.random()
        held[rng.integers(number)] = True
        found = best_threshold(probabilities, held, metric)
        said = probabilities >= np.float32(found.threshold)
        best = max(SCORES[metric](held, probabilities >= np.float32(t)) for t in cut_points(probabilities))
        with naming(trial, held.tolist(), probabilities.tolist()):
            assert found.score == pytest.approx(SCORES[metric](held, said)) == pytest.approx(best)


def test_a_threshold_lies_in_the_middle_and_nearest_to_one_half():
    assert best_threshold([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1]) == (pytest.approx(0.25), 1.0)
    assert best_threshold([0.7, 0.6, 0.9], [0, 0, 1]) == (pytest.approx(0.8), 1.0)
    assert best_threshold([0.1, 0.9], [0, 1]).threshold == 0.5  # as good as any, so it stays
    # Giving the label to all or to the last two: 3 of 4 are right, and 0.25 is nearer than 0.05.
    assert best_threshold([0.1, 0.2, 0.3, 0.4], [1, 0, 1, 1], "accuracy") == (pytest.approx(0.25), 0.75)


def test_a_threshold_never_parts_what_rounding_may_swap():
    close = np.float32([0.3, 0.3 + 1e-7, 0.6])
    assert best_threshold(close, [0, 1, 1]).threshold == pytest.approx(0.15)
    assert best_threshold(np.float32([1.0, 1.0, 0.0]), [1, 0, 0]).threshold == 0.5


def test_a_label_that_never_occurs_keeps_its_threshold_and_is_named(caplog):
    task = MultiLabelClassification(["seen", "never"])
    held = np.array([[1, 0], [0, 0], [1, 0]])
    logits = np.array([[-1.0, 3.0], [-2.0, 1.0], [-1.5, -4.0]], np.float32)
    metrics = scored(task, logits, held)
    metrics |= task.score(None, Predictions({"logits": logits, LABEL_FEATURE: held}, np.arange(3)))
    assert metrics["chosen_thresholds"][1] == 0.5 and metrics["label_counts"] == [[0, 0, 2], [0, 2, 0]]
    assert metrics["best_macro_f1"] == 0.5  # "never" is given, wrongly: F1 1 and 0
    chosen = task.chosen(metrics)
    assert tuple(chosen) == task.chooses and chosen["thresholds"].keys() == {"seen", "never"}
    assert "no example has the label never: the threshold stays 0.5" in caplog.text
    assert task.report(metrics)[1:] == [
        [name, *["0.000"] * 3, true] for name, true in (("seen", "2"), ("never", "0"))
    ]


def test_a_label_that_neither_occurs_nor_is_given_counts_as_in_scikit_learn():
    held = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0]])
    metrics = scored(MultiLabelClassification(["x", "y", "z"]), (8.0 * held - 4).astype(np.float32), held)
    expected = f1_score(held, held, average="macro", zero_division=0)
    assert metrics["macro_f1"] == metrics["best_macro_f1"] == pytest.approx(expected) == pytest.approx(2 / 3)


def scored(task, logits, labels):
    """Metrics of an evaluation of these logits, at the thresholds in force."""
    outputs = {name: np.asarray(value) for name, value in task.outputs(logits).items()}
    batch = {"input_ids": np.zeros((len(logits), 1), np.int32), LABEL_FEATURE: labels}
    sums = task.metric_sums(outputs, batch)
    means = {name: np.asarray(s) / w if w else np.asarray(s) for name, (s, w) in sums.items()}
    return task.summarize(means) | task.score(None, Predictions(outputs | batch, np.arange(len(logits))))


def test_what_was_chosen_is_reached_when_it_is_in_force():
    rng = np.random.default_rng(3)
    for metric in ("f1", "accuracy"):
        task = SequenceClassification(("no", "yes"), "no", threshold_metric=metric)
        logits = rng.normal(size=(50, 2)).astype(np.float32) + [1.0, 0.0]
        labels = (rng.random(50) < 0.7).astype(np.int32)
        before = scored(task, logits.astype(np.float32), labels)
        kept = SequenceClassification(**task.get_config() | task.chosen(before))
        after = scored(kept, logits.astype(np.float32), labels)
        assert kept.settings.threshold == before["chosen_threshold"] != 0.5
        assert float(after[metric]) == pytest.approx(before[f"best_{metric}"])
        assert after[metric] > before[metric]
        assert after["chosen_threshold"] == before["chosen_threshold"]  # whatever is in force

    several = MultiLabelClassification(["x", "y", "z"])
    logits = (rng.normal(size=(60, 3)) - 1.5).astype(np.float32)
    held = (logits + rng.normal(size=(60, 3)) > -1).astype(np.int32)
    before = scored(several, logits, held)
    kept = MultiLabelClassification(**several.get_config() | several.chosen(before))
    reached = scored(kept, logits, held)["macro_f1"]
    assert reached == pytest.approx(before["best_macro_f1"])
    assert reached > before["macro_f1"]


@pytest.mark.parametrize("settings", [{"threshold": 0.3}, {"threshold_metric": "accuracy"}], ids=str)
def test_a_threshold_is_for_two_labels(settings):
    SequenceClassification(("no", "yes"), **settings)
    with pytest.raises(ValueError, match=f"{next(iter(settings))}=.* is for two labels; there are 3"):
        SequenceClassification(("no", "perhaps", "yes"), **settings)


@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_text_gives_the_labels_of_the_thresholds(threshold):
    """In the graph: the function that a SavedModel holds."""
    task = SequenceClassification(("no", "yes"), threshold=threshold)
    loaded = random_task_model(task)
    served = task.serving.signatures(loaded.model, loaded.text_inputs)["serving_default"].function(
        np.array(TEXTS)
    )
    sure = served["probabilities"].numpy()[:, 1] >= threshold
    assert [name.decode() for name in served["label"].numpy()] == ["yes" if one else "no" for one in sure]

    several = MultiLabelClassification(["x", "y"], thresholds={"y": threshold})
    loaded = random_task_model(several)
    served = several.serving.signatures(loaded.model, loaded.text_inputs)["serving_default"].function(
        np.array(TEXTS)
    )
    given = served["probabilities"].numpy() >= np.float32([0.5, threshold])
    for row in range(len(TEXTS)):
        answer = several.serving.answer({name: value.numpy()[row] for name, value in served.items()}, {})
        assert answer["labels"] == [name for name, holds in zip("xy", given[row], strict=True) if holds]


def test_what_an_evaluation_chooses_and_what_needs_no_model_are_no_scores():
    classes = SequenceClassification(["a", "b"])
    logits, ids = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([0, 1])
    probabilities = np.asarray(classes.temperature.probabilities(logits))
    said = classes.temperature.metrics(logits, ids) | classes.thresholds.metrics(probabilities, ids)
    answered = scores_v2(["x", "y"], [0.0, 1.0], [["x"], []], 0.0)
    for task, metrics, names in (
        (classes, said, "temperature chosen_temperature chosen_threshold"),
        (
            QuestionAnswering(unanswerable=True), answered,
            "best_exact_thresh best_f1_thresh chosen_threshold baseline_f1 baseline_exact_match",
        ),
    ):  # fmt: skip
        assert {name for name in metrics if not task.is_score(name)} == {*names.split()}
