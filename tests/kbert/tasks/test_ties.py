"""A tie between the largest logits is as good as drawing one of them, not right whatever the label is."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.features import LABEL_FEATURE, TARGET_FEATURE
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.similarity.in_batch_loss import ranking_sums
from kbert.tasks.task import correct


def test_one_of_n_largest_logits_counts_one_nth():
    logits = np.array([[1, 3, 2], [3, 1, 3], [3, 1, 3], [0, 0, 0], [np.nan, 0, 1]], np.float32)
    labels = np.array([1, 2, 1, 0, 2])
    np.testing.assert_allclose(correct(logits, labels), [1.0, 0.5, 0.0, 1 / 3, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(correct(logits, labels, share_ties=False), [1, 1, 0, 1, 0])


def test_equal_logits_are_as_accurate_as_guessing():
    task = SequenceClassification(["a", "b", "c"])
    labels = np.array([0, 1, 2, 2, 1, 0], np.int32)
    batch = {"input_ids": tf.zeros((6, 1), tf.int32), LABEL_FEATURE: tf.constant(labels)}
    right, total = task.metric_sums({"logits": tf.zeros((6, 3))}, batch)["accuracy"]
    assert float(right / total) == pytest.approx(1 / 3)


def test_collapsed_vectors_find_their_own_as_often_as_guessing():
    vectors = tf.tile(tf.constant([[[0.6, 0.8]]]), (4, 2, 1))
    batch = {"input_ids": tf.ones((4, 2, 5), tf.int32), TARGET_FEATURE: tf.fill([4], np.nan)}
    sums = ranking_sums({"embeddings": vectors}, batch, 20.0, symmetric=False)
    assert float(sums["batch_accuracy"] / sums["weight"]) == pytest.approx(1 / 4)
