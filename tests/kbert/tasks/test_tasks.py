"""Losses, metrics and answers of the tasks against NumPy and small sums done by hand."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import FinetuningConfig, load_config
from kbert.features import EXAMPLE_WEIGHTS, LABEL_FEATURE
from kbert.tasks import TASKS
from kbert.tasks.pretraining import Pretraining
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.training.evaluation_step import means

CONFIGS = Path(__file__).resolve().parents[3] / "configs" / "finetuning"
RNG = np.random.default_rng(8)


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def evaluate(task, outputs, batch):
    """What an evaluation reports of one batch."""
    outputs = {name: tf.constant(value) for name, value in outputs.items()}
    batch = {name: tf.constant(value) for name, value in batch.items()}
    weights, losses = task.loss_weights(batch), task.loss_sums(outputs, batch)
    assert weights.keys() == losses.keys()
    sums = {name: (losses[name], weights[name]) for name in losses} | task.metric_sums(outputs, batch)
    return task.summarize(means(tf.nest.map_structure(np.asarray, sums)))


@pytest.fixture
def pretraining_batch():
    outputs = {
        "masked_lm_logits": RNG.normal(size=(4, 3, 9)).astype(np.float32),
        "next_sentence_logits": RNG.normal(size=(4, 2)).astype(np.float32),
    }
    batch = {
        "input_ids": np.zeros((4, 5), np.int32),
        "masked_lm_ids": RNG.integers(0, 9, size=(4, 3)).astype(np.int32),
        "masked_lm_weights": np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]], np.float32),
        "next_sentence_labels": np.array([[0], [1], [1], [0]], np.int32),
    }
    return outputs, batch


def test_pretraining_losses_and_accuracies(pretraining_batch):
    outputs, batch = pretraining_batch
    metrics = evaluate(Pretraining(), outputs, batch)

    logs = log_softmax(outputs["masked_lm_logits"])
    weights = batch["masked_lm_weights"]
    entropies = -np.take_along_axis(logs, batch["masked_lm_ids"][..., None], axis=-1)[..., 0]
    assert metrics["masked_lm_loss"] == pytest.approx((entropies * weights).sum() / (weights.sum() + 1e-5))
    right = (logs.argmax(axis=-1) == batch["masked_lm_ids"]) * weights
    assert metrics["masked_lm_accuracy"] == pytest.approx(right.sum() / weights.sum())

    logs = log_softmax(outputs["next_sentence_logits"])
    labels = batch["next_sentence_labels"]
    assert metrics["next_sentence_loss"] == pytest.approx(-np.take_along_axis(logs, labels, axis=1).mean())
    assert metrics["next_sentence_accuracy"] == (logs.argmax(axis=-1) == labels[:, 0]).mean()


def test_filled_rows_do_not_count(pretraining_batch):
    outputs, batch = pretraining_batch
    filled = batch | {EXAMPLE_WEIGHTS: np.array([1, 1, 0, 0], np.float32)}
    real = [{name: value[:2] for name, value in values.items()} for values in (outputs, batch)]
    assert evaluate(Pretraining(), outputs, filled) == pytest.approx(evaluate(Pretraining(), *real))


TRUE = [0, 0, 0, 1, 1, 2, 2, 2]
PREDICTED = [0, 0, 1, 1, 0, 2, 2, 2]


def classification(task, true, predicted, weights=None):
    logits = np.full((len(true), len(task.labels)), -1.0, np.float32)
    logits[np.arange(len(true)), predicted] = 1.0
    batch = {"input_ids": np.zeros((len(true), 5), np.int32), LABEL_FEATURE: np.array(true, np.int32)}
    if weights is not None:
        batch[EXAMPLE_WEIGHTS] = np.array(weights, np.float32)
    return evaluate(task, {"logits": logits}, batch)


@pytest.mark.parametrize(("positive", "expected"), [(None, 2 / 4), ("yes", 2 / 4), ("no", 4 / 6)])
def test_two_labels_f1_of_the_positive_one(positive, expected):
    task = SequenceClassification(("no", "yes"), positive)
    metrics = classification(task, [0, 0, 0, 1, 1], [0, 0, 1, 1, 0])
    assert metrics["f1"] == pytest.approx(expected)


def test_filled_rows_do_not_count_in_classification():
    task = SequenceClassification(("a", "b", "c"))
    filled = classification(task, [*TRUE, 1, 1], [*PREDICTED, 1, 0], [1] * 8 + [0, 0])
    expected = classification(task, TRUE, PREDICTED)
    assert filled.pop("confusion") == expected.pop("confusion")
    assert filled == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["a", "b", "a"],), "the list of labels repeats ['a']; name each label once."),
        ((["one"],), "classification needs at least two labels, received ['one']."),
        ((["a", "b"], "c"), "positive_label='c' is not among the labels ['a', 'b']."),
    ],
)
def test_labels_that_make_no_task(arguments, sentence):
    with pytest.raises(ValueError) as error:
        SequenceClassification(*arguments)
    assert str(error.value) == sentence


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_a_shipped_configs_settings_are_its_tasks(path):
    config = load_config(FinetuningConfig, path)
    settings = TASKS[config.task].read_settings(config.task_settings)
    assert isinstance(settings, TASKS[config.task].settings_class)


def test_settings_of_a_task_that_has_none_are_refused():
    with pytest.raises(ValueError, match=r"task_settings: encoder has no settings, received doc_stride"):
        TASKS["encoder"].read_settings({"doc_stride": 128})
