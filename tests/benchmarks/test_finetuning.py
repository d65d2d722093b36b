import csv
import json

import pytest

from benchmarks import finetuning
from benchmarks.workers.contestants import Record


def _record(rates, result=None):
    steps = [
        {"seconds": 64 / rate, "cpu_seconds": 64 / rate, "examples": 64.0, "loss": 0.3} for rate in rates
    ]
    return Record({}, steps, result, 500.0)


def test_rates_leave_out_the_first_call_and_count_examples_over_seconds():
    found = finetuning.figures(_record([1.0, 40.0, 60.0], {"accuracy": 0.9, "f1": 0.8}))
    assert found["examples_per_second"] == pytest.approx(128 / (64 / 40 + 64 / 60))
    assert (found["slowest"], found["fastest"]) == pytest.approx((40.0, 60.0))
    assert found["accuracy"] == 0.9


def test_ratio_is_that_of_the_better_precisions():
    found = {
        "SST-2": {
            ("kbert", "float32"): finetuning.figures(_record([1.0, 60.0])),
            ("kbert", "bfloat16"): finetuning.figures(_record([1.0, 90.0])),
            ("hugging_face", "float32"): finetuning.figures(_record([1.0, 30.0])),
            ("hugging_face", "bfloat16"): finetuning.figures(_record([1.0, 20.0])),
        }
    }
    closing = finetuning.summary(found)
    assert closing["kbert"] == {"examples_per_second": 90.0, "precision": "bfloat16"}
    assert (closing["ratio"], closing["ratio_to"]) == (3.0, "Hugging Face")


def test_table_leaves_scores_empty_where_there_are_none():
    with_scores = finetuning.figures(_record([1.0, 60.0], {"accuracy": 0.875, "f1": 0.75}))
    without = finetuning.figures(_record([1.0, 60.0]))
    rows = finetuning.table({("kbert", "float32"): with_scores, ("hugging_face", "float32"): without})
    assert "| 0.8750 | 0.7500 |" in rows.splitlines()[2]
    assert "|  |  |" in rows.splitlines()[3]


def test_squad_becomes_a_table_of_questions_and_paragraphs(tmp_path):
    questions = [
        {"id": "1", "question": "Who\twas  it?", "answers": [{"text": "Ada", "answer_start": 0}]},
        {"id": "2", "question": 'And "where"?', "answers": [], "is_impossible": True},
    ]
    paragraph = {"context": "Ada\nwas it.", "qas": questions}
    (tmp_path / "train.json").write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    table = finetuning.table_of(tmp_path / "train.json")
    rows = list(csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert rows == [
        {"question": "Who was it?", "context": "Ada was it.", "answerable": "True"},
        {"question": 'And "where"?', "context": "Ada was it.", "answerable": "False"},
    ]
