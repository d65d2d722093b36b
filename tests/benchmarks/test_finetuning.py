"""The tables that both systems read."""

import json

from benchmarks import finetuning


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
