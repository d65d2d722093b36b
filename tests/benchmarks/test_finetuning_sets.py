"""The labelled sets of the fine-tuning benchmark: configs and rows that kbert reads; scores of answers."""

import json

import pytest

from benchmarks.workers.finetuning_sets import SETS, config_of, read_rows, scores, write_rows
from kbert.config import FinetuningConfig, from_dict

FILES = {
    "CoLA": "a\t1\t\tA good one.\nb\t0\t*\tOne bad.\n",
    "RTE": "index\tsentence1\tsentence2\tlabel\n0\tIt rains.\tIt is wet.\tentailment\n",
    "STS-B": "score\tsentence1\tsentence2\n2.5\ta man\ta boy\n",
    "CODAH": "o\tHe sat\tdown.\tup.\tin.\tout.\t2\n",
    "CoNLL": "-DOCSTART- -X- O O\n\nAnn NN I-NP I-PER\nsat VB I-VP O\n\nin IN I-PP O\nOslo NN I-NP I-LOC\n",
    "SQuAD": json.dumps(
        {
            "data": [
                {
                    "title": "t",
                    "paragraphs": [
                        {
                            "context": "Ann sat in Oslo.",
                            "qas": [
                                {
                                    "id": "1",
                                    "question": "Where?",
                                    "answers": [{"text": "Oslo", "answer_start": 11}],
                                }
                            ],
                        }
                    ],
                }
            ]
        }
    ),
}
ROWS = {
    "CoLA": [{"text": "A good one.", "label": "1"}, {"text": "One bad.", "label": "0"}],
    "RTE": [{"text": "It rains.", "text_pair": "It is wet.", "label": "0"}],
    "STS-B": [{"text": "a man", "text_pair": "a boy", "label": "2.5"}],
    "CODAH": [
        {
            "text": "He sat",
            "choice0": "down.",
            "choice1": "up.",
            "choice2": "in.",
            "choice3": "out.",
            "label": "2",
        }
    ],
    "CoNLL": [
        {"text": ["Ann", "sat"], "label": ["B-PER", "O"]},
        {"text": ["in", "Oslo"], "label": ["O", "B-LOC"]},
    ],
    "SQuAD": [
        {
            "id": "1",
            "question": "Where?",
            "context": "Ann sat in Oslo.",
            "answers": {"text": ["Oslo"], "answer_start": [11]},
        }
    ],
}


@pytest.mark.parametrize("name", SETS)
def test_kbert_takes_the_config(name):
    assert from_dict(FinetuningConfig, config_of(SETS[name], seed=1, steps_per_turn=5)).seed == 1


@pytest.mark.parametrize("name", FILES)
def test_rows_are_written_for_both_systems(name, tmp_path):
    (tmp_path / "file").write_text(FILES[name], encoding="utf-8")
    write_rows(read_rows(tmp_path / "file", SETS[name], 2), tmp_path / "rows.jsonl")
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == ROWS[name]


def test_answers_are_scored():
    labelled = [{"label": label} for label in ("1", "0", "1", "0")]
    assert scores(SETS["MRPC"], labelled, [1, 1, 0, 0]) == {"accuracy": 0.5, "f1": 0.5}
    assert scores(SETS["CoLA"], labelled, [1, 0, 1, 0]) == pytest.approx({"matthews": 1.0, "accuracy": 1.0})
    numbers = [{"label": label} for label in ("1", "2", "3")]
    correlations = scores(SETS["STS-B"], numbers, [1.0, 2.0, 9.0])
    assert correlations["spearman"] == pytest.approx(1) and correlations["pearson"] < 1
    assert scores(SETS["CoNLL"], ROWS["CoNLL"], [["B-PER", "O"], ["O", "B-PER"]]) == {"f1": 0.5}
    assert scores(SETS["SQuAD"], ROWS["SQuAD"], ["the Oslo"]) == {"exact_match": 100.0, "f1": 100.0}
