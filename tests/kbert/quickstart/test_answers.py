"""The shown texts: the first right and the first wrong answers, and none that is made up."""

import pytest

from kbert.input_pipelines.labelled_files import LabelledText
from kbert.quickstart.answers import ShownExample, shown_examples

ROWS = [
    LabelledText(*row)
    for row in (("1", None, "odd"), ("2", None, "even"), ("3", None, "odd"), ("4", None, "even"))
]


def classifier(answers):
    def classify(texts):
        assert texts == [row.text for row in ROWS]
        return [{"label": label} for label in answers]

    return classify


def test_the_first_right_and_the_first_wrong_answer():
    shown = shown_examples(classifier(["even", "odd", "odd", "even"]), ROWS)
    assert shown == [ShownExample("3", "odd", "odd", True), ShownExample("1", "odd", "even", False)]


def test_as_many_of_each_kind_as_there_are():
    shown = shown_examples(classifier(["odd", "even", "odd", "odd"]), ROWS, each=2)
    assert [(example.text, example.is_right) for example in shown] == [("1", True), ("2", True), ("4", False)]


@pytest.mark.parametrize("right", [True, False])
def test_one_alone_where_there_is_no_other(right):
    answers = [row.label if right else "neither" for row in ROWS]
    (shown,) = shown_examples(classifier(answers), ROWS)
    assert (shown.text, shown.is_right) == ("1", right)
