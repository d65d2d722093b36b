"""Settings that a task alone has: from the config to its rows, and records of other settings are refused."""

import json
from dataclasses import dataclass

import pytest

from kbert.config import to_dict
from kbert.input_pipelines.records.record_folders import LabelledRecords
from kbert.manifest import read_manifest
from kbert.tasks import TASKS
from kbert.tasks.sequences.sequence_classification import SequenceClassification
from kbert.tasks.sequences.settings import OneLabelSettings
from tests.conftest import MAX_SEQ_LENGTH, tiny_finetuning_config, write_labelled_file
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_finetuning_data import create_finetuning_data


@dataclass(frozen=True)
class Shouting(OneLabelSettings):
    times: int = 1


class Shouted(SequenceClassification):
    """Repeats every text; how often is the setting that changes the rows."""

    name = "shouted"
    settings_class = Shouting
    row_settings = ("times",)

    @classmethod
    def from_dataset(cls, dataset, settings=None):
        return super().from_dataset(dataset, settings or Shouting())

    def examples_to_features(self, examples, text_inputs):
        repeated = [
            example._replace(text=" ".join([example.text] * self.settings.times)) for example in examples
        ]
        return super().examples_to_features(repeated, text_inputs)


@pytest.fixture
def records(tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, Shouted.name, Shouted)
    small_corpus.vocabulary().write(tmp_path / "vocab.txt")

    def records(name, **task_settings):
        config = tiny_finetuning_config(task=Shouted.name, task_settings=task_settings)
        (tmp_path / "config.json").write_text(json.dumps(to_dict(config)), encoding="utf-8")
        file = write_labelled_file(tmp_path / "rows.tsv", 6)
        create_finetuning_data(
            tmp_path / "config.json", file, tmp_path / name, vocab_file=tmp_path / "vocab.txt"
        )
        return tmp_path / name

    return records


def test_settings_reach_the_rows(records):
    once, twice = (read_manifest(records(str(times), times=times)) for times in (1, 2))
    assert twice.settings["task_settings"]["times"] == 2
    assert twice.statistics["tokens"] > once.statistics["tokens"]


def test_records_of_other_settings_are_refused(records):
    directory = records("twice", times=2)
    expected = r"was made with task_settings\.times=2, but this run has 1; make the records again"
    with pytest.raises(ValueError, match=expected):
        LabelledRecords(directory, Shouted, MAX_SEQ_LENGTH, settings=Shouting())
