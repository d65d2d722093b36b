"""`Serving.same_answers` by hand: what counts as the same answer, and what does not."""

import numpy as np
import pytest

from kbert.features import LABEL_FEATURE
from kbert.tasks import TASKS
from kbert.tasks.serving import near

LABELS = ("quiet", "loud")


def same(task, outputs, expected, batch=None):
    arrays = [
        {name: np.array(values, np.float32) for name, values in one.items()} for one in (outputs, expected)
    ]
    return task.serving.same_answers(*arrays, batch or {}).tolist()


def with_probabilities(values):
    return {"logits": np.log(values), "probabilities": values}


def test_labels_by_the_largest_logit_or_by_the_threshold():
    expected, found = [[0.6, 0.4], [0.3, 0.7], [0.9, 0.1]], [[0.52, 0.48], [0.6, 0.4], [0.7, 0.3]]
    plain = TASKS["sequence_classification"](LABELS)
    chosen = TASKS["sequence_classification"](LABELS, threshold=0.45)  # of "loud"
    both = with_probabilities(np.array(found)), with_probabilities(np.array(expected))
    assert same(plain, *both) == [True, False, True]
    assert same(chosen, *both) == [False, False, True]


def test_sets_of_labels_are_the_same_as_a_whole():
    task = TASKS["multi_label_classification"](LABELS, thresholds={"loud": 0.8})
    expected, found = [[0.6, 0.7], [0.6, 0.7], [0.1, 0.9]], [[0.9, 0.75], [0.4, 0.7], [0.1, 0.79]]
    both = with_probabilities(np.array(found)), with_probabilities(np.array(expected))
    assert same(task, *both) == [True, False, False]


def test_numbers_are_near():
    task = TASKS["sequence_regression"]()
    expected, found = [0.0, 0.5, 4.0, 4.0, -4.0], [0.049, 0.56, 4.19, 4.21, -4.19]
    answers = same(task, {"prediction": found}, {"prediction": expected})
    assert answers == [True, False, True, False, True] == near(found, expected).tolist()


def test_the_choice():
    task = TASKS["multiple_choice"](3)
    expected, found = [[0.0, 1.0, 0.5], [2.0, 1.0, 0.0]], [[0.0, 0.6, 0.5], [0.9, 1.0, 0.0]]
    assert same(task, {"logits": found}, {"logits": expected}) == [True, False]


def test_tokens_are_asked_one_by_one():
    task = TASKS["token_classification"](("O", "B-PER"))
    expected = {"logits": [[[1, 0], [0, 1], [1, 0], [0, 1]]]}
    found = {"logits": [[[0, 1], [0, 2], [0, 1], [1, 0]]]}
    mask = np.array([[1, 1, 1, 0]])
    assert same(task, found, expected, {"input_mask": mask}) == [False, True, False]
    labels = np.array([[-100, 0, 1, -100]])
    assert same(task, found, expected, {"input_mask": mask, LABEL_FEATURE: labels}) == [True, False]


def test_a_span_has_two_ends_and_padding_none():
    task = TASKS["question_answering"]()
    expected = {"start_logits": [[1, 2, 0, 0]] * 3, "end_logits": [[0, 1, 2, 0]] * 3}
    found = {
        "start_logits": [[1, 2, 0, 9], [3, 2, 0, 0], [1, 2, 0, 0]],
        "end_logits": [[0, 1, 2, 9], [0, 1, 2, 0], [0, 3, 2, 0]],
    }
    batch = {"input_mask": np.array([[1, 1, 1, 0]] * 3)}
    assert same(task, found, expected, batch) == [True, False, False]


@pytest.mark.parametrize("name", ["cosine_similarity", "multiple_negatives_ranking"])
def test_vectors_of_nearly_the_same_direction(name):
    task = TASKS[name]()
    expected = {"embeddings": [[[1, 0], [0, 2]], [[3, 4], [1, 1]]]}
    found = {"embeddings": [[[5, 0.5], [0, -2]], [[3, 4], [1, 1.4]]]}  # cosines 0.995, -1, 1, 0.986
    assert same(task, found, expected) == [True, False, True, False]
