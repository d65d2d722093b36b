"""Weights of labels and label smoothing, beside NumPy and scikit-learn."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn.utils.class_weight import compute_class_weight

from kbert.features import EXAMPLE_WEIGHTS, LABEL_FEATURE
from kbert.tasks.label_losses import LabelLossSettings, OneLabelLoss, SeveralLabelsLoss
from kbert.tasks.sequences.multi_label_classification import MultiLabelClassification
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.token_classification.token_classification import TokenClassification

LABELS = ("a", "b", "c")
LOGITS = np.array([[2.0, 0.5, -1.0], [0.1, 0.2, 0.3], [-3.0, 1.0, 4.0], [9.0, 9.0, -9.0]], np.float32)
IDS = np.array([0, 2, 2, 1], np.int32)
REAL = np.array([1.0, 1.0, 1.0, 0.0], np.float32)  # the last row only fills the batch
TABLE = {"a": 0.5, "b": 7.0, "c": 3.0}
COUNTS = {"a": 2, "b": 1, "c": 1}


def batch_of(labels, real=REAL):
    tensors = {"input_ids": np.zeros((len(real), 2), np.int32), LABEL_FEATURE: labels, EXAMPLE_WEIGHTS: real}
    return {name: tf.constant(value) for name, value in tensors.items()}


def losses_of(task, logits, batch):
    """(training loss, evaluation loss): means over the batch."""
    outputs = {"logits": tf.constant(logits)}
    return tuple(
        float(task.loss_sums(outputs, batch, training)["loss"] / task.loss_weights(batch, training)["loss"])
        for training in (True, False)
    )


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def smoothed(logits, ids, smoothing):
    """Cross-entropies with the smoothed targets written out."""
    number = logits.shape[-1]
    targets = np.eye(number)[ids] * (1 - smoothing) + smoothing / number
    return -(targets * log_softmax(logits.astype(np.float64))).sum(-1)


def test_balanced_weights_are_those_of_scikit_learn(caplog):
    labels = ["a"] * 90 + ["b"] * 9 + ["c"]
    counts = {name: labels.count(name) for name in LABELS}
    expected = compute_class_weight("balanced", classes=np.array(LABELS), y=np.array(labels))
    with caplog.at_level("INFO", logger="absl"):
        weights = OneLabelLoss(LABELS, LabelLossSettings()).balanced_weights(counts, 100)
    assert list(weights.values()) == pytest.approx(expected)
    assert caplog.records[-1].getMessage() == 'class_weights="balanced": c 33.3, b 3.7, a 0.37'


def test_balanced_weights_of_several_labels_are_quotients_of_those_of_scikit_learn():
    held = np.array([1] * 3 + [0] * 17)
    without, having = compute_class_weight("balanced", classes=np.array([0, 1]), y=held)
    weights = SeveralLabelsLoss(["x", "always", "never"], LabelLossSettings()).balanced_weights(
        {"x": 3, "always": 20}, 20
    )
    assert weights == {"x": pytest.approx(having / without), "always": 1.0, "never": 1.0}


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_label_weighs_as_much_as_its_table_says(smoothing):
    task = SequenceClassification(LABELS, class_weights=TABLE, label_smoothing=smoothing)
    trained, evaluated = losses_of(task, LOGITS, batch_of(IDS))
    weights = np.array([TABLE[LABELS[index]] for index in IDS]) * REAL
    assert trained == pytest.approx(
        (weights * smoothed(LOGITS, IDS, smoothing)).sum() / weights.sum(), rel=1e-5
    )
    assert evaluated == pytest.approx(smoothed(LOGITS[:3], IDS[:3], 0.0).mean(), rel=1e-5)


def test_having_a_label_weighs_as_much_as_the_table_says():
    held = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], np.int32)
    task = MultiLabelClassification(LABELS, class_weights=TABLE, label_smoothing=0.2)
    trained, evaluated = losses_of(task, LOGITS, batch_of(held))
    said = 1 / (1 + np.exp(-LOGITS[:3].astype(np.float64)))

    def entropies(targets):
        return -targets * np.log(said) - (1 - targets) * np.log(1 - said)

    weights = np.where(held[:3], list(TABLE.values()), 1.0)
    expected = (weights * entropies(held[:3] * 0.8 + 0.1)).sum() / weights.sum()
    assert trained == pytest.approx(expected, rel=1e-5)
    assert evaluated == pytest.approx(entropies(held[:3]).mean(), rel=1e-5)


def test_a_labelled_token_weighs_as_much_as_its_label():
    task = TokenClassification(LABELS, class_weights=TABLE, label_smoothing=0.1)
    ids = np.array([[0, 2, -100], [1, -100, -100]], np.int32)
    logits = np.stack([LOGITS[:3], LOGITS[1:]])
    trained, evaluated = losses_of(task, logits, batch_of(ids, np.ones(2, np.float32)))
    places = ids >= 0
    weights = np.array([TABLE[LABELS[index]] for index in ids[places]])
    expected = (weights * smoothed(logits[places], ids[places], 0.1)).sum() / weights.sum()
    assert trained == pytest.approx(expected, rel=1e-5)
    assert evaluated == pytest.approx(smoothed(logits[places], ids[places], 0.0).mean(), rel=1e-5)


def test_balanced_becomes_the_numbers_that_a_run_records(caplog):
    task = SequenceClassification(LABELS, class_weights="balanced")
    with pytest.raises(ValueError, match="stands for numbers that only the training data know"):
        task.loss_weights(batch_of(IDS), training=True)
    counted = task.for_training(lambda: (COUNTS, 4))
    weights = {"a": pytest.approx(2 / 3), "b": pytest.approx(4 / 3), "c": pytest.approx(4 / 3)}
    assert counted.get_config()["class_weights"] == weights
    assert SequenceClassification(**counted.get_config()).settings == counted.settings
    with caplog.at_level("INFO", logger="absl"):
        task.for_training(lambda: (COUNTS, 4))
        assert "windows" not in caplog.text
        in_windows = SequenceClassification(LABELS, class_weights="balanced", long_texts="windows")
        assert in_windows.for_training(lambda: (COUNTS, 4)).settings.class_weights == weights
    assert "class_weights: these count texts, and the loss counts windows" in caplog.text


def test_weights_that_are_no_table_of_numbers_are_told_how_to_be_written():
    with pytest.raises(ValueError, match=r'table label -> weight, which in --override is JSON: {"a": 1.0, '):
        LabelLossSettings('{"a"=1}')
    with pytest.raises(ValueError, match=r'class_weights.0=.* finite number; in TOML .* point as "1.0"\.'):
        LabelLossSettings({"0": {"0": 1.0}, "1": {"0": 2.0}})
