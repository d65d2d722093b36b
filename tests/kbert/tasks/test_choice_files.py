"""How the right choice of a row may be named."""

import pytest

from kbert.config import DatasetConfig
from kbert.experiments.labelled_file import LabelledFile
from kbert.input_pipelines.held_out_split import held_out_indices
from kbert.tasks.sequences.choice_files import ChoiceFiles, Choices

CHOICES = ("one", "two", "three")


def read(tmp_path, given, texts="red,green,blue", **dataset):
    path = tmp_path / "rows.csv"
    path.write_text("text,one,two,three,label\n" + "".join(f"x,{texts},{label}\n" for label in given))
    config = DatasetConfig(choices=CHOICES, **dataset)
    examples = list(ChoiceFiles().read_examples(path, config))
    ChoiceFiles().complete_dataset(config, examples)
    return [example.label for example in examples]


@pytest.mark.parametrize(
    ("labels", "listed"),
    [
        (["0", "1", "2"], ()),
        (["A", "B", "C"], ()),
        (["one", "two", "three"], ()),
        (["red", "green", "blue"], ()),
        (["1", "2", "3"], ("1", "2", "3")),
        (["0.0", " 1", "2."], ()),
        (["a", "b", "C "], ()),
    ],
)
def test_the_right_choice_has_several_names(tmp_path, labels, listed):
    assert read(tmp_path, labels, labels=listed) == [0, 1, 2]


@pytest.mark.parametrize("label", ["3", "D", "yellow", "-1", "1.5"])
def test_what_names_no_choice_is_refused(tmp_path, label):
    with pytest.raises(
        ValueError, match=f"line 3: label '{label}' does not name a choice; expected"
    ) as error:
        read(tmp_path, ["0", label])
    advice = 'If the file counts from 1, set dataset.labels=["1", "2", "3"].'
    assert (advice in str(error.value)) == (label == "3")


def test_an_empty_choice_is_no_right_one(tmp_path):
    path = tmp_path / "rows.csv"
    for begins in ({}, {"text_pair": "begins"}):  # as SWAG's choices do
        path.write_text("text,begins,one,two,three,label\nx,y,yes,no,,0\nx,y,yes,no,,2\n")
        dataset = DatasetConfig(choices=CHOICES, **begins)
        with pytest.raises(ValueError, match="line 3: its label '2' is the choice in 'three', which is"):
            list(ChoiceFiles().read_examples(path, dataset))
    assert read(tmp_path, ["0", "1"], "yes,no,") == [0, 1]


def test_labels_are_as_many_as_choices(tmp_path):
    """Read as numbers from 0 each row would have learned the choice behind its own."""
    with pytest.raises(ValueError, match="labels=.* has 2 entries for 3 columns"):
        read(tmp_path, ["1", "2"], labels=("1", "2"))


def test_a_text_that_two_choices_have_names_none(tmp_path):
    with pytest.raises(ValueError, match="'red' does not name a choice"):
        read(tmp_path, ["red"], "red,red,blue")


def test_a_number_that_is_also_a_text_is_what_the_other_rows_have(tmp_path, caplog):
    assert read(tmp_path, ["1"], "1,0,2") == [1]
    assert "is the number of one choice and the text of another" in caplog.text
    path = tmp_path / "rows.csv"
    for label, expected in (("0", [1, 0]), ("five", None)):
        path.write_text(f"text,one,two,three,label\nx,1,0,2,1\ny,five,six,seven,{label}\n")
        config = DatasetConfig(choices=CHOICES)
        if expected:
            assert [example.label for example in ChoiceFiles().read_examples(path, config)] == expected
        else:
            with pytest.raises(
                ValueError, match="line 2: label '1' is the number .* Other rows have the text"
            ):
                list(ChoiceFiles().read_examples(path, config))


@pytest.mark.parametrize("texts", ["red,green,blue", "1,red,green"])
def test_numbers_beside_letters_are_refused(tmp_path, texts):
    """ARC's numbers count from 1: read from 0, "1" would be the second choice."""
    with pytest.raises(ValueError, match="line 4: label '1' is a number, and .* line 2: label 'A' a letter"):
        read(tmp_path, ["A", "C", "1"], texts)


@pytest.mark.parametrize("label", ["1", "two"])
def test_no_row_with_the_first_of_two_choices_is_said(label, tmp_path, caplog):
    path = tmp_path / "rows.csv"
    path.write_text(f"text,one,two,label\nx,red,green,{label}\ny,red,blue,{label}\n")
    config = DatasetConfig(choices=CHOICES[:2])
    ChoiceFiles().complete_dataset(config, list(ChoiceFiles().read_examples(path, config)))
    assert "if the file counts from 1, list its labels" in caplog.text


def test_questions_about_a_passage_and_orders_of_choices_stay_on_one_side(tmp_path):
    """In a file of 20 passages all that were held out were trained on."""
    path = tmp_path / "rows.csv"
    orders = ("red,green,blue,0", "green,blue,red,2", "blue,red,green,1")
    rows = [f"passage {number},{order}\n" for number in range(20) for order in orders]
    path.write_text("text,one,two,three,label\n" + "".join(rows))
    data = LabelledFile(path, ChoiceFiles(), DatasetConfig(choices=CHOICES))
    train, dev = ({example.text for example in part.examples} for part in data.split(0.3, seed=1))
    assert len(train) == 14 and len(dev) == 6 and not train & dev
    for few in (1, 2, 9):  # which say what to do: a tenth of 2 texts is none
        said = [example._replace(text=f"Which is {n // 3 % few}?") for n, example in enumerate(data.examples)]
        assert len({*ChoiceFiles().groups(said)}) > few
    said = [Choices(f"Which is {n % 12}?", (f"red {n}", "green"), 0) for n in range(12 * 31)]
    assert len({*ChoiceFiles().groups(said)}) == len(said) and len({*ChoiceFiles().groups(said[:360])}) == 12
    assert len({*ChoiceFiles().groups(said[:361])}) == 11 + 31


def test_the_order_of_a_file_does_not_change_which_rows_are_drawn(tmp_path):
    """Questions on one passage were numbered by it. They are drawn as when they were split one by one."""
    rows = [f"passage {n // 4},red {n},green,blue,0\n" for n in range(80)]
    drawn = []
    for name, order in (("rows.csv", rows), ("again.csv", rows[::-1])):
        (tmp_path / name).write_text("text,one,two,three,label\n" + "".join(order))
        data = LabelledFile(tmp_path / name, ChoiceFiles(), DatasetConfig(choices=CHOICES))
        drawn.append(data.at_most(20, seed=1))
    assert {*drawn[0].examples} == {*drawn[1].examples}
    one_by_one = [repr(example[:-1]) for example in data.examples]
    expected = held_out_indices(one_by_one, [""] * 80, 0.25, seed=1, stay=0)
    assert drawn[1].examples == [data.examples[place] for place in expected]


def test_rows_without_a_label_may_be_left_out(tmp_path):
    assert read(tmp_path, ["0", "-1", "", "2"], skip_unlabelled=True) == [0, 2]
    assert read(tmp_path, ["-1", "", "-5"], "-5,-1,0", skip_unlabelled=True) == [1, 0]


def test_what_marks_a_row_without_a_label_may_be_the_text_of_a_choice(tmp_path):
    assert read(tmp_path, ["?", ".", "None"], ".,?,None", skip_unlabelled=True) == [1, 0, 2]
    assert read(tmp_path, ["?", "NA"], ".,?,None", skip_unlabelled=True) == [1]
