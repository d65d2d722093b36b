"""The shown passages: the first right and the first wrong answer, and none that is made up."""

import pytest

from kbert.config import DatasetConfig
from kbert.quickstart.shown_examples import ShownExample, shown_examples

DATASET = DatasetConfig(text="sentence", label="label")
ROWS = [("one", "odd"), ("two", "even"), ("three", "odd"), ("four", "even")]


@pytest.fixture
def labelled_file(tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in ROWS))
    return path


def classifier(answers):
    def classify(texts):
        assert texts == [text for text, _ in ROWS]
        return [{"label": label} for label in answers]

    return classify


def test_the_first_right_and_the_first_wrong_answer(labelled_file):
    shown = shown_examples(classifier(["even", "odd", "odd", "even"]), labelled_file, DATASET)
    assert shown == [ShownExample("three", "odd", True), ShownExample("one", "odd", False)]


@pytest.mark.parametrize("right", [True, False])
def test_one_alone_where_there_is_no_other(labelled_file, right):
    answers = [label if right else "neither" for _, label in ROWS]
    assert shown_examples(classifier(answers), labelled_file, DATASET) == [ShownExample("one", "odd", right)]
