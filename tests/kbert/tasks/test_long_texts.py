"""One answer for each text from the logits of its windows: by hand in NumPy, and through a model."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import accuracy_score, f1_score

from kbert.features import ENCODER_INPUTS, LABEL_FEATURE, WINDOW_FEATURE
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.tasks.pages.page import NUM_TOKENS
from kbert.tasks.sequences.long_texts import pool_windows
from kbert.tasks.sequences.multi_label_classification import MultiLabelClassification
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from kbert.tasks.task import Predictions
from kbert.tasks.temperature import SIGMOID, SOFTMAX
from kbert.tokenization.window_packer import window_starts
from tests.kbert.inference.random_model import random_task_model
from tests.naming import naming

pytestmark = pytest.mark.usefixtures("eager")

LONG = "walked and talked, opening the play, the looks and asks. " * 4
SHORT = ["jump the a", "turn", ""]
MODES = [(pooling, kind) for pooling in ("mean", "max", "vote") for kind in (SOFTMAX, SIGMOID)]


def pooled_by_hand(windows, pooling, kind):
    """One text: float array (windows, labels) -> (labels,)."""
    if pooling == "max":
        return windows.max(axis=0)
    if pooling == "mean":
        return windows.mean(axis=0)
    if kind == SOFTMAX:
        own = windows.argmax(axis=1)
        votes = np.bincount(own, minlength=windows.shape[1])
        leading = [label for label in range(windows.shape[1]) if votes[label] == votes.max()]
        winner = max(leading, key=lambda label: windows.mean(axis=0)[label])
        return windows[own == winner].mean(axis=0)
    pooled = []
    for column in windows.T:
        in_favour, against = column[column >= 0], column[column < 0]
        if len(in_favour) == len(against):
            pooled.append((in_favour if column.mean() >= 0 else against).mean())
        else:
            pooled.append(max((in_favour, against), key=len).mean())
    return np.array(pooled)


@pytest.mark.parametrize(("pooling", "kind"), MODES)
def test_windows_are_pooled_as_by_hand_in_any_order(pooling, kind):
    rng = np.random.default_rng(4)
    for trial in range(25):
        counts = rng.integers(1, 6, size=4)
        owners = np.repeat(np.arange(4), counts).astype(np.int32)
        logits = (rng.normal(size=(counts.sum(), 3)) * 2).astype(np.float32)
        parts = np.split(logits, counts.cumsum()[:-1])
        expected = np.stack([pooled_by_hand(part.astype(np.float64), pooling, kind) for part in parts])
        with naming(trial, counts.tolist()):
            found = pool_windows(logits, owners, 4, pooling, kind).numpy()
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
            order = rng.permutation(len(owners))
            again = pool_windows(logits[order], owners[order], 4, pooling, kind).numpy()
            np.testing.assert_allclose(again, found, rtol=1e-5, atol=1e-6)


def tasks(**settings):
    number = settings | {"window_pooling": "max"} if settings.get("window_pooling") == "vote" else settings
    return (
        SequenceClassification(("a", "b", "c"), **settings),
        MultiLabelClassification(["a", "b", "c"], **settings),
        SequenceRegression(**number),
    )


def served(loaded, task, texts, pairs=None):
    name, arguments = ("serving_default", [texts]) if pairs is None else ("pair", [texts, pairs])
    signature = task.serving.signatures(loaded.model, loaded.text_inputs)[name]
    return {key: value.numpy() for key, value in signature.function(*map(tf.constant, arguments)).items()}


@pytest.mark.slow
@pytest.mark.parametrize(("pooling", "pairs"), [("mean", False), ("vote", True)])
def test_an_answer_is_that_of_the_pooled_rows(pooling, pairs):
    """Rows as a training has them, through the model, pooled by hand; beside the signature on texts."""
    texts, seconds = [LONG, *SHORT], ["look", LONG, "a", "b"] if pairs else None
    for task in tasks(long_texts="windows", doc_stride=7, window_pooling=pooling):
        loaded = random_task_model(task)
        label = 1.0 if task.kind is None else ("a",) if task.kind == SIGMOID else "a"
        examples = [
            LabelledText(one, two, label) for one, two in zip(texts, seconds or [None] * 4, strict=True)
        ]
        rows = task.examples_to_features(examples, loaded.text_inputs)
        assert list(rows.features) == list(task.features(24)) and rows.owners[-1] == 3 < len(rows.owners) - 1
        outputs = loaded.model({name: rows.features[name] for name in ENCODER_INPUTS}, training=False)
        logits = np.asarray(task.logits(outputs), np.float64)
        parts = [logits[rows.owners == text] for text in range(4)]
        expected = np.stack([pooled_by_hand(part, task.settings.window_pooling, task.kind) for part in parts])
        found = served(loaded, task, texts, seconds)
        np.testing.assert_allclose(np.asarray(task.logits(found)), expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "vote"])
def test_scores_are_of_texts_and_need_no_owners(pooling):
    """`owners` of records say nothing: rows are put together by their numbers."""
    rng = np.random.default_rng(8)
    counts = rng.integers(1, 5, size=30)
    numbers = np.concatenate([np.arange(count) for count in counts]).astype(np.int32)
    rows = {"logits": rng.normal(size=(len(numbers), 3)).astype(np.float32), WINDOW_FEATURE: numbers}
    parts = np.split(rows["logits"], counts.cumsum()[:-1])
    settings = {"long_texts": "windows", "window_pooling": pooling}

    labels = rng.integers(0, 3, size=30).astype(np.int32)
    values = rows | {LABEL_FEATURE: np.repeat(labels, counts)}
    metrics = SequenceClassification(("a", "b", "c"), **settings).score(
        None, Predictions(values, np.arange(len(numbers)))
    )
    said = np.stack([pooled_by_hand(part, pooling, SOFTMAX) for part in parts]).argmax(axis=1)
    assert metrics["accuracy"] == pytest.approx(accuracy_score(labels, said))
    assert metrics["f1"] == pytest.approx(f1_score(labels, said, average="macro"))
    assert np.sum(metrics["confusion"]) == 30

    held = (rng.random((30, 3)) < 0.4).astype(np.int32)
    values = rows | {LABEL_FEATURE: np.repeat(held, counts, axis=0)}
    metrics = MultiLabelClassification(["a", "b", "c"], **settings).score(
        None, Predictions(values, np.arange(len(numbers)))
    )
    said = np.stack([pooled_by_hand(part, pooling, SIGMOID) for part in parts]) >= 0
    assert metrics["accuracy"] == pytest.approx(accuracy_score(held, said))
    assert metrics["macro_f1"] == pytest.approx(f1_score(held, said, average="macro"))
    counts = np.stack([(said & (held > 0)).sum(axis=0), said.sum(axis=0), held.sum(axis=0)], axis=1)
    assert metrics["label_counts"] == counts.tolist()


def test_numbers_are_pooled_and_correlated_by_text():
    values = {
        "prediction": np.array([1.0, 3.0, 5.0, 0.0, 9.0], np.float32),
        "targets": np.array([2.0, 2.0, 4.0, 1.0, 1.0], np.float32),
        WINDOW_FEATURE: np.array([0, 1, 0, 0, 1], np.int32),
    }
    task = SequenceRegression(long_texts="windows")
    metrics = task.score(None, Predictions(values, np.arange(5)))
    assert metrics["pearson"] == pytest.approx(np.corrcoef([2.0, 5.0, 4.5], [2.0, 4.0, 1.0])[0, 1])


@pytest.mark.parametrize("doc_stride", [None, 1, 16, 126])
def test_tokens_in_several_windows_count_once(doc_stride):
    """A page put 500 tokens among texts of 513 to 1,024, with a small step beyond 2,048."""
    room, totals = 126, np.array([500, 3, 126, 127, 0, 300], np.int32)
    steps = np.full_like(totals, doc_stride or room // 2)
    owners, starts = (part.numpy() for part in window_starts(totals, np.full_like(totals, room), steps))
    rows = {
        WINDOW_FEATURE: starts // steps[owners],
        NUM_TOKENS: 2 + np.minimum(totals[owners] - starts, room),
    }
    task = SequenceClassification(("a", "b"), long_texts="windows", doc_stride=doc_stride)
    assert task.long_texts.first_windows(rows)[NUM_TOKENS].tolist() == (2 + totals).tolist()
