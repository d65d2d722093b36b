"""Losses and counts of tasks on numbers small enough to reckon by hand."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.features import EXAMPLE_WEIGHTS, LABEL_FEATURE, TARGET_FEATURE
from kbert.tasks.sequences.multi_label_classification import MultiLabelClassification
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.sequences.sequence_regression import SequenceRegression


def of_batch(batch, number=3):
    ids = {"input_ids": tf.zeros((number, 2), tf.int32)}
    return ids | {name: tf.constant(value) for name, value in batch.items()}


def test_rows_of_the_confusion_are_true_and_columns_predicted():
    """Not the same the other way round: one b is taken for an a, and no a for a b."""
    task = SequenceClassification(("a", "b"))
    logits = tf.constant([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    batch = of_batch({LABEL_FEATURE: np.array([0, 1, 1], np.int32)})
    confusion, _ = task.metric_sums({"logits": logits}, batch)["confusion"]
    assert confusion.numpy().tolist() == [[1, 0], [1, 1]]


def test_rows_that_fill_a_batch_do_not_count_in_a_regression():
    task = SequenceRegression()
    outputs = {"prediction": tf.constant([1.0, 2.0, 9.0])}
    batch = of_batch({TARGET_FEATURE: [0.0, 4.0, 0.0], EXAMPLE_WEIGHTS: [1.0, 1.0, 0.0]})
    assert float(task.loss_sums(outputs, batch)["loss"]) == 1.0 + 4.0
    assert float(task.loss_weights(batch)["loss"]) == 2.0


def test_every_label_of_several_has_a_cross_entropy_of_its_own():
    task = MultiLabelClassification(["x", "y"])
    logits, held = np.array([[0.5, -2.0], [3.0, 100.0], [7.0, 7.0]]), np.array([[1, 0], [0, 1], [1, 1]])
    batch = of_batch({LABEL_FEATURE: held.astype(np.int32), EXAMPLE_WEIGHTS: [1.0, 1.0, 0.0]})
    said = 1 / (1 + np.exp(-logits[:2]))
    with np.errstate(divide="ignore"):
        expected = -np.where(held[:2], np.log(said), np.log(1 - said)).sum()
    loss = task.loss_sums({"logits": tf.constant(logits, tf.float32)}, batch)["loss"]
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert float(task.loss_weights(batch)["loss"]) == 2 * 2
