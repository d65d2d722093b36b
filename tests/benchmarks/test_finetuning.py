"""Rates of fine-tuning, and the tables that both systems read."""

import json

import pytest

from benchmarks import finetuning
from benchmarks.workers.contestants import Record


def test_rates_leave_out_the_first_turn_and_count_examples_over_seconds():
    turns = [
        {"seconds": 64 / rate, "cpu_seconds": 64 / rate, "examples": 64.0, "loss": 0.3}
        for rate in (1.0, 40.0, 60.0)
    ]
    found = finetuning.figures(Record({}, turns, {"accuracy": 0.9, "f1": 0.8}, 500.0))
    assert found["examples_per_second"] == pytest.approx(128 / (64 / 40 + 64 / 60))
    assert (found["slowest"], found["fastest"]) == pytest.approx((40.0, 60.0))
    assert found["accuracy"] == 0.9


def test_tables_and_squad_become_the_same_columns(tmp_path):
    questions = [
        {"id": "1", "question": "Who\twas  it?", "answers": [{"text": "Ada", "answer_start": 0}]},
        {"id": "2", "question": 'And "where"?', "answers": [], "is_impossible": True},
    ]
    paragraph = {"context": "Ada\nwas it.", "qas": questions}
    (tmp_path / "train.json").write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    (tmp_path / "train.tsv").write_text('sentence\tother\tlabel\na "b\tx\t1\nc\ty\t0\n')
    for file, columns, expected in (
        ("train.json", (), [["Who was it?", "Ada was it.", "1"], ['And "where"?', "Ada was it.", "0"]]),
        ("train.tsv", ("sentence", "label"), [['a "b', "1"], ["c", "0"]]),
    ):
        rows = list(finetuning.read_rows(tmp_path / file, columns))
        finetuning.write_table(rows, tmp_path / "written.tsv")
        heads, *lines = (tmp_path / "written.tsv").read_text().splitlines()
        assert heads.split("\t") == ["text", *["text_pair"] * (len(expected[0]) - 2), "label"]
        assert [line.split("\t") for line in lines] == expected
