"""The sections that tasks give for a page: numbers worked out by hand, and apart from kbert."""

import numpy as np

from kbert.input_pipelines.labelled_files import LabelledText
from kbert.tasks.pages.answers import ScoredAnswer, answer_sections
from kbert.tasks.pages.calibration import expected_calibration_error, reliability
from kbert.tasks.pages.labels import one_label_sections, several_labels_sections
from kbert.tasks.question_answering.squad_files import Answer, Question
from kbert.tasks.sequences.multi_label_classification import MultiLabelClassification
from kbert.tasks.task import Predictions
from kbert.tasks.token_classification.tagged_sentences import Document, TaggedSentence
from kbert.tasks.token_classification.token_classification import TokenClassification


def predictions(**values):
    values = {name: np.asarray(value) for name, value in values.items()}
    return Predictions(values, np.arange(len(next(iter(values.values())))))


def section(sections, title):
    (found,) = [one for one in sections if one.title == title]
    return found


def worst(sections, title="The most confident errors"):
    return section(sections, title).content.cards


def facts(card):
    return {fact.name: fact.value for fact in card.facts}


def calibration_error_by_loops(confidences, is_right, num_bins):
    """Equation 3 of arXiv 1706.04599, bin by bin: m from 1 to M holds ((m - 1) / M, m / M]."""
    error = 0.0
    for m in range(1, num_bins + 1):
        inside = [i for i, p in enumerate(confidences) if (m - 1) / num_bins < p <= m / num_bins]
        if inside:
            accuracy = sum(is_right[i] for i in inside) / len(inside)
            confidence = sum(confidences[i] for i in inside) / len(inside)
            error += len(inside) / len(confidences) * abs(accuracy - confidence)
    return error


def test_edges_belong_to_the_bin_below_and_nothing_is_lost():
    bins = reliability([0.0, 0.2, 0.200001, 1.0], [0, 1, 1, 0])
    assert np.flatnonzero(bins.counts).tolist() == [0, 2, 3, 14]
    assert sum(bins.accuracies) == 2
    assert expected_calibration_error(reliability([1.0, 1.0], [1, 1])) == 0
    assert expected_calibration_error(reliability([1.0, 1.0], [1, 0])) == 0.5


def test_the_most_confident_wrong_label_comes_first():
    examples = [LabelledText(text, None, label) for text, label in (("a", "x"), ("b", "y"), ("c", "x"))]
    given = predictions(
        probabilities=[[0.4, 0.6], [0.9, 0.1], [0.8, 0.2]], label_ids=[0, 1, 0], num_tokens=[3, 3, 3]
    )
    predicted = np.array([1, 0, 0])
    sections = one_label_sections(("x", "y"), examples, given, 5, predicted)
    cards = worst(sections)
    assert [card.texts[0].text for card in cards] == ["b", "a"]
    assert facts(cards[0]) == {"right": "y", "predicted": "x, 90.0%", "probability of the right one": "10.0%"}
    assert len(worst(one_label_sections(("x", "y"), examples, given, 1, predicted))) == 1
    assert len(one_label_sections(("x", "y"), None, given, 5, predicted)) == 2  # records hold no texts
    assert section(sections, "Calibration").content.counts[-2] == 1  # 0.9 is in (13 / 15, 14 / 15]


def test_labels_decided_one_by_one_are_scored_label_by_label():
    examples = [LabelledText("a", "b", ("up",)), LabelledText("c", "d", ())]
    given = predictions(probabilities=[[0.9, 0.7], [0.2, 0.1]], label_ids=[[1, 0], [0, 0]], num_tokens=[5, 5])
    said = [[True, True], [False, False]]
    sections = several_labels_sections(("up", "far"), said, examples, given, 5)
    page = MultiLabelClassification(("up", "far")).page
    by_label = page.metric_sections({"label_counts": [[1, 1, 1], [0, 1, 0]]})
    assert section(by_label, "Label by label").content.rows == [
        ("up", "100.0%", "100.0%", "100.0%", "1", "1"),
        ("far", "0.0%", "–", "0.0%", "1", "0"),
    ]
    (card,) = worst(sections)
    assert facts(card) == {"right": "up", "predicted": "up, far", "worst": "far, predicted with 70.0%"}
    assert [text.name for text in card.texts] == ["first", "second"]
    assert sum(section(sections, "Calibration").content.counts) == 4


def question(context, *answers):
    return Question("id", "Who?", context, tuple(Answer(text, context.index(text)) for text in answers))


def test_the_given_and_the_right_answer_are_marked_where_they_stand():
    context = "Ada met Ada Lovelace, and Bob left."
    asked = question(context, "Ada Lovelace")
    cases = {
        "Bob": [("right", "Ada Lovelace"), ("wrong", "Bob")],
        "met Ada Lovelace,": [("wrong", "met "), ("right", "Ada Lovelace"), ("wrong", ",")],
        "Lovelace": [("right", "Ada Lovelace")],
        "": [("right", "Ada Lovelace")],
    }
    for text, expected in cases.items():
        start = context.index(text) if text else None
        given = ScoredAnswer(text, start, 0.8, 0.0, 0.0)
        (card,) = worst(answer_sections([asked], [given], 3))
        shown = card.texts[1]
        assert [(mark.kind, shown.text[mark.start : mark.end]) for mark in shown.marks] == expected


def test_entities_are_marked_as_their_words_stand():
    labels = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
    words = ("Ada", "Lovelace", "saw", "Rome")
    sentence = TaggedSentence(words, Document([words]), 0, ("B-PER", "I-PER", "O", "B-LOC"))
    values = {
        "label_ids": np.array([[-100, 1, 2, 0, 3, -100]]),
        "word_ids": np.array([[-1, 0, 1, 2, 3, -1]]),
        "predicted_ids": np.array([[0, 1, 2, 0, 1, 0]]),
        "confidences": np.array([[1.0, 0.9, 0.9, 0.8, 0.7, 1.0]], np.float32),
    }
    sections = TokenClassification(labels).page.example_sections(
        [sentence], Predictions(values, np.arange(1)), 5
    )
    confusion = section(sections, "Confusion").content
    assert confusion.names == ("O", "PER", "LOC") and confusion.counts == [[1, 0, 0], [0, 2, 0], [0, 1, 0]]
    (card,) = worst(sections)
    right, given = card.texts
    assert [(right.text[m.start : m.end], m.name) for m in right.marks] == [
        ("Ada Lovelace", "PER"), ("Rome", "LOC")
    ]  # fmt: skip
    assert [(given.text[m.start : m.end], m.name) for m in given.marks] == [
        ("Ada Lovelace", "PER"), ("Rome", "PER")
    ]  # fmt: skip
    assert [mark.kind for mark in right.marks] == [1, 0]  # the colours of the types
    assert facts(card) == {"most confident wrong word": "70.0%"}
