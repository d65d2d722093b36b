"""Losses and metrics of the tasks against NumPy and small sums done by hand."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import FinetuningConfig, load_config
from kbert.features import EXAMPLE_WEIGHTS, LABEL_FEATURE, TARGET_FEATURE
from kbert.tasks import TASKS
from kbert.tasks.losses import correct
from kbert.tasks.pretraining.next_sentence import NextSentence
from kbert.tasks.pretraining.objectives import Pretraining
from kbert.tasks.question_answering.question_answering import QuestionAnswering
from kbert.tasks.sequences.multiple_choice import MultipleChoice
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from kbert.tasks.token_classification.token_classification import TokenClassification
from kbert.training.evaluation_step import means

CONFIGS = Path(__file__).resolve().parents[3] / "configs" / "finetuning"
RNG = np.random.default_rng(8)
IDS = np.zeros((4, 5), np.int32)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def log_softmax(logits):
    logits = logits.astype(np.float64)
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def entropies(logits, labels):
    return -np.take_along_axis(log_softmax(logits), np.asarray(labels)[..., None], axis=-1)[..., 0]


def evaluate(task, outputs, batch):
    """What an evaluation reports of one batch."""
    outputs = {name: tf.constant(value) for name, value in outputs.items()}
    batch = {name: tf.constant(value) for name, value in batch.items()}
    weights, losses = task.loss_weights(batch), task.loss_sums(outputs, batch)
    assert weights.keys() == losses.keys()
    sums = {name: (losses[name], weights[name]) for name in losses} | task.metric_sums(outputs, batch)
    return task.summarize(means(tf.nest.map_structure(np.asarray, sums)))


def pretraining_case():
    outputs = {"masked_lm_logits": normal(4, 3, 9), "next_sentence_logits": normal(4, 2)}
    batch = {
        "input_ids": IDS,
        "masked_lm_ids": RNG.integers(0, 9, size=(4, 3)).astype(np.int32),
        "masked_lm_weights": np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]], np.float32),
        "next_sentence_labels": np.array([[0], [1], [1], [0]], np.int32),
    }
    return outputs, batch


def test_pretraining_losses_and_accuracies():
    outputs, batch = pretraining_case()
    metrics, weights = evaluate(Pretraining(), outputs, batch), batch["masked_lm_weights"]
    losses = entropies(outputs["masked_lm_logits"], batch["masked_lm_ids"])
    assert metrics["masked_lm_loss"] == pytest.approx((losses * weights).sum() / (weights.sum() + 1e-5))
    right = (outputs["masked_lm_logits"].argmax(axis=-1) == batch["masked_lm_ids"]) * weights
    assert metrics["masked_lm_accuracy"] == pytest.approx(right.sum() / weights.sum())
    labels, logits = batch["next_sentence_labels"][:, 0], outputs["next_sentence_logits"]
    expected = {
        "next_sentence_loss": pytest.approx(entropies(logits, labels).mean(), rel=1e-5),
        "next_sentence_accuracy": (logits.argmax(axis=-1) == labels).mean(),
    }
    assert {name: metrics[name] for name in expected} == expected == evaluate(NextSentence(), outputs, batch)


TOKEN_LABELS = np.array(
    [[-100, 2, 0, 1, -100], [-100, 1, -100, -1, -100], [-100] * 5, [-100, 0, 0, 0, 2]], np.int32
)


def token_case():
    return {"logits": normal(4, 5, 3)}, {"input_ids": IDS, LABEL_FEATURE: TOKEN_LABELS}


def test_token_classification_counts_only_labelled_tokens():
    outputs, batch = token_case()
    metrics = evaluate(TokenClassification(("a", "b", "c")), outputs, batch)
    labelled = TOKEN_LABELS >= 0
    losses = entropies(outputs["logits"][labelled], TOKEN_LABELS[labelled])
    assert len(losses) == 8
    assert metrics["loss"] == pytest.approx(losses.mean(), rel=1e-5)
    right = outputs["logits"][labelled].argmax(axis=-1) == TOKEN_LABELS[labelled]
    assert metrics["token_accuracy"] == pytest.approx(right.mean())


def span_case():
    not_at_cls = np.float32([-9, 0, 0, 0, 0])
    outputs = {name: normal(4, 5) + not_at_cls for name in ("start_logits", "end_logits")}
    best = {name: logits.argmax(axis=-1).astype(np.int32) for name, logits in outputs.items()}
    positions = {
        "start_positions": np.where([True, True, False, False], best["start_logits"], 0),
        "end_positions": np.where([True, False, True, False], best["end_logits"], 0),
    }
    return outputs, {"input_ids": IDS, "input_mask": np.ones_like(IDS)} | positions


def test_question_answering_loss_is_the_mean_of_start_and_end():
    outputs, batch = span_case()
    metrics = evaluate(QuestionAnswering(), outputs, batch)
    start = entropies(outputs["start_logits"], batch["start_positions"])
    end = entropies(outputs["end_logits"], batch["end_positions"])
    assert metrics["loss"] == pytest.approx((start.mean() + end.mean()) / 2, rel=1e-5)
    assert [metrics[f"{name}_accuracy"] for name in ("start", "end", "span")] == [0.5, 0.5, 0.25]


def test_padding_is_no_place_of_an_answer():
    outputs, batch = span_case()
    padded = {name: np.pad(value, ((0, 0), (0, 3)), constant_values=9.0) for name, value in outputs.items()}
    longer = batch | {name: np.pad(batch[name], ((0, 0), (0, 3))) for name in ("input_ids", "input_mask")}
    task = QuestionAnswering()
    assert evaluate(task, padded, longer) == pytest.approx(evaluate(task, outputs, batch), rel=1e-5)


def label_case():
    return {"logits": normal(4, 3)}, {"input_ids": IDS, LABEL_FEATURE: np.array([0, 1, 2, 1], np.int32)}


@pytest.mark.parametrize("task", [MultipleChoice(), SequenceClassification(("a", "b", "c"))])
def test_one_right_label(task):
    outputs, batch = label_case()
    metrics = evaluate(task, outputs, batch)
    assert metrics["loss"] == pytest.approx(
        entropies(outputs["logits"], batch[LABEL_FEATURE]).mean(), rel=1e-5
    )
    assert metrics["accuracy"] == (outputs["logits"].argmax(axis=1) == batch[LABEL_FEATURE]).mean()


def number_case():
    return {"prediction": normal(4)}, {"input_ids": IDS, TARGET_FEATURE: normal(4)}


@pytest.mark.parametrize(
    ("task", "case"),
    [
        (Pretraining(), pretraining_case),
        (TokenClassification(("a", "b", "c")), token_case),
        (QuestionAnswering(), span_case),
        (MultipleChoice(), label_case),
        (SequenceClassification(("a", "b", "c")), label_case),
        (SequenceRegression(), number_case),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_rows_that_fill_a_batch_do_not_count(task, case):
    outputs, batch = case()
    filled = batch | {EXAMPLE_WEIGHTS: np.array([1, 1, 0, 0], np.float32)}
    metrics = evaluate(task, outputs, filled)
    expected = evaluate(task, *({name: v[:2] for name, v in values.items()} for values in (outputs, batch)))
    assert metrics.pop("confusion", None) == expected.pop("confusion", None)
    assert metrics == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("positive", "f1"), [(None, 2 / 4), ("yes", 2 / 4), ("no", 4 / 6)])
def test_two_labels_f1_of_the_positive_one(positive, f1):
    """Rows of the confusion are true labels, columns predicted ones."""
    logits = np.float32([[1, -1], [1, -1], [-1, 1], [-1, 1], [1, -1]])
    batch = {"input_ids": np.zeros((5, 1), np.int32), LABEL_FEATURE: np.array([0, 0, 0, 1, 1], np.int32)}
    metrics = evaluate(SequenceClassification(("no", "yes"), positive), {"logits": logits}, batch)
    assert metrics["f1"] == pytest.approx(f1) and metrics["confusion"] == [[2, 1], [1, 1]]


def test_one_of_n_largest_logits_counts_one_nth():
    """A tie is as good as drawing one of them, not right whatever the label is."""
    logits = np.array([[1, 3, 2], [3, 1, 3], [3, 1, 3], [0, 0, 0], [np.nan, 0, 1]], np.float32)
    labels = np.array([1, 2, 1, 0, 2])
    np.testing.assert_allclose(correct(logits, labels), [1.0, 0.5, 0.0, 1 / 3, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(correct(logits, labels, share_ties=False), [1, 1, 0, 1, 0])
    rounded = np.float32([[3, 1, np.nextafter(np.float32(3), 4)]])  # one text twice, in unlike batches
    np.testing.assert_allclose([correct(rounded, [label])[0] for label in range(3)], [0.5, 0.0, 0.5])


def test_the_shipped_configs_settings_are_their_tasks():
    for path in CONFIGS.glob("*.toml"):
        config = load_config(FinetuningConfig, path)
        settings = TASKS[config.task].read_settings(config.task_settings)
        assert isinstance(settings, TASKS[config.task].settings_class)
    with pytest.raises(ValueError, match=r"task_settings: encoder has no settings, received doc_stride"):
        TASKS["encoder"].read_settings({"doc_stride": 128})
