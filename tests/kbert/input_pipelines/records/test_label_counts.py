"""Records of windows: labels are counted as in the file, and records of other settings are refused."""

import dataclasses
import json
from contextlib import nullcontext

import pytest

from kbert.config import DatasetConfig, to_dict
from kbert.experiments.labelled_file import LabelledFile
from kbert.features import Feature
from kbert.input_pipelines.records.record_folders import LabelledRecords
from kbert.tasks import TASKS
from tests.conftest import tiny_finetuning_config
from tests.html_checks import read_page
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_finetuning_data import create_finetuning_data
from tfrecords_tools.show_records import show_records

TASK, LENGTH = TASKS["sequence_classification"], 10
WINDOWS = {"long_texts": "windows", "doc_stride": 5}


@pytest.fixture
def both(tmp_path):
    """(the file, its records): the loud texts are long, so that each has several windows."""
    file, vocab_file = tmp_path / "rows.tsv", tmp_path / "vocab.txt"
    small_corpus.vocabulary().write(vocab_file)
    rows = ["the jump\tquiet"] * 5 + [f"{'the jump ' * 10}\tloud"] * 3
    file.write_text("\n".join(["sentence\tlabel", *rows]) + "\n", encoding="utf-8")
    config = tiny_finetuning_config(max_seq_length=LENGTH, task_settings=WINDOWS)
    (tmp_path / "config.json").write_text(json.dumps(to_dict(config)), encoding="utf-8")
    create_finetuning_data(tmp_path / "config.json", file, tmp_path / "records", vocab_file=vocab_file)
    settings = TASK.read_settings(WINDOWS)
    records = LabelledRecords(tmp_path / "records", TASK, LENGTH, settings=settings)
    return LabelledFile(file, TASK.files, config.dataset), records


def test_a_text_in_several_windows_counts_once(both, caplog):
    file, records = both
    assert records.manifest.num_examples > records.num_examples == 8
    assert records.count_labels() == file.count_labels() == ({"quiet": 5, "loud": 3}, 8)
    assert not caplog.records


def test_several_labels_and_those_of_words_are_counted_and_shown(tmp_path, capsys):
    vocab_file = tmp_path / "vocab.txt"
    small_corpus.vocabulary().write(vocab_file)
    rows = [{"words": ["the", "jump"], "tags": ["quiet", "loud"], "sentence": "the jump", "held": held}
            for held in (["loud"], [], ["quiet", "loud"])]  # fmt: skip
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    labels = ("quiet", "loud", "rare")
    for task, columns, shown in (
        ("multi_label_classification", {"text": "sentence", "label": "held"}, "labels (2): quiet, loud"),
        (
            "token_classification",
            {"text": "words", "label": "tags", "tag_scheme": "none"},
            "token labels (2): 1=quiet 2=loud",
        ),
    ):
        dataset = DatasetConfig(**columns, labels=labels)
        config = tiny_finetuning_config(task=task, dataset=dataset, max_seq_length=LENGTH)
        (tmp_path / "config.json").write_text(json.dumps(to_dict(config)), encoding="utf-8")
        create_finetuning_data(tmp_path / "config.json", file, tmp_path / task, vocab_file=vocab_file)
        counts, number = LabelledFile(file, TASKS[task].files, dataset).count_labels()
        records = LabelledRecords(tmp_path / task, TASKS[task], LENGTH)
        assert records.count_labels() == ({"rare": 0} | counts, number)
        show_records(tmp_path / task)
        assert shown in capsys.readouterr().out
        page = read_page(tmp_path / task / "statistics.html")
        assert f"loud: {counts['loud']}" in page and "rare: 0" in page
        assert ("most frequent label is right" in page) == (task == "token_classification")


def test_records_of_other_settings_are_refused(both):
    directory = both[1].directory
    settings = TASK.read_settings(WINDOWS | {"doc_stride": 4})
    with pytest.raises(ValueError, match=r"made with task_settings\.doc_stride=5, but this run has 4; make"):
        LabelledRecords(directory, TASK, LENGTH, settings=settings)


def test_a_default_is_the_number_that_it_stands_for(both):
    """Records from before `doc_stride` followed the length say 128."""
    records, squad = both[1], TASKS["question_answering"]
    records.manifest.features["input_ids"] = Feature("int32", (600,))
    for number, is_other in ((200, False), (128, True)):
        settings = squad.read_settings({"doc_stride": number})
        with pytest.raises(ValueError, match="_stride=200, but this") if is_other else nullcontext():
            records._require_row_settings(squad, squad.read_settings({}), settings)


def test_records_say_which_label_is_positive_unless_the_config_does(both):
    records = both[1]
    records.dataset = dataclasses.replace(records.dataset, positive_label="loud")
    assert records.agreed_dataset(DatasetConfig()).positive_label == "loud"
    assert records.agreed_dataset(DatasetConfig(positive_label="quiet")).positive_label == "quiet"
