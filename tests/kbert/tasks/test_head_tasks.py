"""Losses and metrics of the tasks on tokens, spans, choices and next sentences against NumPy."""

import numpy as np
import pytest

from kbert.features import EXAMPLE_WEIGHTS, LABEL_FEATURE
from kbert.tasks.pretraining import NextSentence
from kbert.tasks.question_answering import QuestionAnswering
from kbert.tasks.sequences.multiple_choice import MultipleChoice
from kbert.tasks.token_classification import TokenClassification
from tests.kbert.tasks.test_tasks import evaluate, log_softmax

RNG = np.random.default_rng(9)
IDS = np.zeros((4, 5), np.int32)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def entropies(logits, labels):
    return -np.take_along_axis(log_softmax(logits), np.asarray(labels)[..., None], axis=-1)[..., 0]


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
    right_start = outputs["start_logits"].argmax(axis=-1) == batch["start_positions"]
    right_end = outputs["end_logits"].argmax(axis=-1) == batch["end_positions"]
    assert metrics["start_accuracy"] == right_start.mean()
    assert metrics["end_accuracy"] == right_end.mean()
    assert metrics["span_accuracy"] == (right_start & right_end).mean()
    assert 0 < metrics["span_accuracy"] < metrics["start_accuracy"]


def test_padding_is_no_place_of_an_answer():
    outputs, batch = span_case()
    padded = {name: np.pad(value, ((0, 0), (0, 3)), constant_values=9.0) for name, value in outputs.items()}
    longer = batch | {name: np.pad(batch[name], ((0, 0), (0, 3))) for name in ("input_ids", "input_mask")}
    task = QuestionAnswering()
    assert evaluate(task, padded, longer) == pytest.approx(evaluate(task, outputs, batch), rel=1e-5)


def choice_case():
    batch = {"input_ids": np.zeros((4, 3, 5), np.int32), LABEL_FEATURE: np.array([0, 1, 2, 1], np.int32)}
    return {"logits": normal(4, 3)}, batch


def test_multiple_choice():
    outputs, batch = choice_case()
    metrics = evaluate(MultipleChoice(), outputs, batch)
    assert metrics["loss"] == pytest.approx(
        entropies(outputs["logits"], batch[LABEL_FEATURE]).mean(), rel=1e-5
    )
    assert metrics["accuracy"] == (outputs["logits"].argmax(axis=1) == batch[LABEL_FEATURE]).mean()


def next_sentence_case():
    batch = {"input_ids": IDS, "next_sentence_labels": np.array([[0], [1], [1], [0]], np.int32)}
    return {"next_sentence_logits": normal(4, 2)}, batch


def test_next_sentence():
    outputs, batch = next_sentence_case()
    metrics = evaluate(NextSentence(), outputs, batch)
    labels = batch["next_sentence_labels"][:, 0]
    losses = entropies(outputs["next_sentence_logits"], labels)
    assert metrics["next_sentence_loss"] == pytest.approx(losses.mean(), rel=1e-5)
    right = outputs["next_sentence_logits"].argmax(axis=1) == labels
    assert metrics["next_sentence_accuracy"] == right.mean()


@pytest.mark.parametrize(
    ("task", "case"),
    [
        (TokenClassification(("a", "b", "c")), token_case),
        (QuestionAnswering(), span_case),
        (MultipleChoice(), choice_case),
        (NextSentence(), next_sentence_case),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_filled_rows_do_not_count(task, case):
    outputs, batch = case()
    filled = batch | {EXAMPLE_WEIGHTS: np.array([1, 1, 0, 0], np.float32)}
    real = [{name: value[:2] for name, value in values.items()} for values in (outputs, batch)]
    assert evaluate(task, outputs, filled) == pytest.approx(evaluate(task, *real), rel=1e-5)
