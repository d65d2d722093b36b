"""Answers in files: what kbert's own reader of labelled files finds there again."""

import csv
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.config import DatasetConfig
from kbert.files.compression import find_opener
from kbert.inference.answer_files import find_format, require_labels, write_answers
from kbert.input_pipelines.labelled_files import read_rows
from kbert.input_pipelines.unlabelled_files import rows_and_examples

CLASSIFIED = {"label": "good", "probabilities": {"bad": 0.25, "good": 0.75}}
texts = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("\"',;\t\n\r \u2028\0")), max_size=9)


@pytest.mark.parametrize(
    ("name", "dataset"),
    [("a.csv", {}), ("a.TSV.xz", {}), ("a.tsv", {"file_format": "csv", "delimiter": "\t"})],
)
@given(st.lists(st.tuples(texts, st.sampled_from(["good", "so, so", 'a "b"'])), min_size=1, max_size=5))
@settings(max_examples=25)
def test_a_table_is_read_again_as_it_was_written(tmp_path_factory, name, dataset, rows):
    path = tmp_path_factory.mktemp("answers") / name
    rows = [(f'"a"{text}', label) for text, label in rows]  # a text of white space alone is no text
    if find_format(path) == "tsv":
        rows = [(" ".join(text.split()), label) for text, label in rows]
    answered = [({"text": text}, CLASSIFIED | {"label": label}) for text, label in rows]
    write_answers(path, answered, ";", in_quotes=bool(dataset))
    dataset = DatasetConfig(**dataset)
    assert [(row.text, row.label) for row in read_rows(path, dataset)] == rows
    read = [row["probability_good"] for row, _ in rows_and_examples(path, [("text",)], dataset)]
    assert read == ["0.75"] * len(rows)
    assert [one.name for one in path.parent.iterdir()] == [name]


@pytest.mark.parametrize(
    ("example", "answer", "columns"),
    [
        ({"text": "a"}, CLASSIFIED, "text=a label=good probability_bad=0.25 probability_good=0.75"),
        ({"text": "a", "label": "bad"}, {"label": "good"}, "text=a label=bad predicted_label=good"),
        (
            {"label": "a", "predicted_label": "b"},
            {"label": "c"},
            "label=a predicted_label=b predicted_predicted_label=c",
        ),
        ({"text": "a"}, {"prediction": 2.5}, "text=a prediction=2.5"),
        ({"text": "a"}, {"labels": ["x", "y"]}, "text=a labels=x;y"),
        ({"text": "a"}, {"labels": ["x;", "y"]}, 'text=a labels=["x;","y"]'),
        ({"text": "a"}, {"labels": [], "entities": []}, "text=a labels= entities=[]"),
        ({"choices": ["x", "y"]}, {"choice": 1}, 'choices=["x","y"] choice=1'),
        ({"text": "a"}, {"masks": [[{"token": "b"}]]}, 'text=a masks=[[{"token":"b"}]]'),
    ],
)
def test_answers_are_flat_where_they_can_be(tmp_path, example, answer, columns):
    write_answers(tmp_path / "a.csv", [(example, answer)], ";")
    (row,) = csv.DictReader((tmp_path / "a.csv").read_text().splitlines())
    assert " ".join(f"{name}={cell.replace(' ', '')}" for name, cell in row.items()) == columns


def test_json_lines_are_as_on_standard_output_also_compressed(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    write_answers(path, [({"text": "é\t"}, CLASSIFIED)], ";")
    with find_opener(path)(path, "rt", encoding="utf-8") as file:
        assert file.read() == json.dumps({"text": "é\t"} | CLASSIFIED, ensure_ascii=False) + "\n"


def test_a_label_that_a_table_cannot_hold_is_refused_before_any_answer():
    require_labels(["a\tb"], "answers.csv")
    with pytest.raises(ValueError, match=r"column 'label': 'a\\tb' has a tab or a line end"):
        require_labels(["c", "a\tb"], "answers.tsv")
