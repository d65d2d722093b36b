"""Records made before manifests had a format version: they are read, checked and trained on for good."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from kbert.input_pipelines.records.labelled_records import LabelledRecords
from kbert.input_pipelines.records.pretraining_records import PretrainingRecords
from kbert.input_pipelines.records.record_vocabulary import read_vocabulary
from kbert.manifest import read_manifest
from kbert.tasks import TASKS
from tfrecords_tools.check_records import check_records
from tfrecords_tools.draw_statistics import draw_statistics
from tfrecords_tools.show_records import show_records

STORED = Path(__file__).resolve().parents[3] / "stored_before_format_version"
PRETRAINING, LABELLED = STORED / "records_pretraining", STORED / "records_labelled"


def tokens(batch, vocabulary):
    return [[vocabulary.tokens[id] for id in row if id] for row in np.asarray(batch["input_ids"]).tolist()]


def test_pretraining_records_are_trained_on_and_evaluated():
    records = PretrainingRecords(PRETRAINING)
    assert (records.manifest.format_version, records.manifest.fingerprint) == (0, None)
    assert records.max_seq_length == 32 and records.next_sentence
    vocabulary = read_vocabulary(PRETRAINING, records.manifest)

    batch = next(iter(records.training_batches(20, seed=1, start_example=0)))
    evaluated = next(iter(records.evaluation_batches(20)))
    for name in records.manifest.features:  # one epoch: the same records in another order
        assert sorted(batch[name].numpy().tolist()) == sorted(evaluated[name].numpy().tolist())
    assert all(row[0] == "[CLS]" and row.count("[SEP]") == 2 for row in tokens(batch, vocabulary))
    assert set(evaluated["next_sentence_labels"].numpy().ravel().tolist()) == {0, 1}
    assert np.asarray(evaluated["masked_lm_weights"]).sum() > 20


def test_labelled_records_are_trained_on_and_evaluated():
    records = LabelledRecords(LABELLED, TASKS["sequence_classification"], max_seq_length=16)
    assert records.dataset.labels == ("loud", "quiet") and records.num_examples == 12
    vocabulary = read_vocabulary(LABELLED, records.manifest)

    for batches in (
        records.training_batches(6, seed=1, start_example=0, pad_to_longest=True),
        records.evaluation_batches(6, pad_to_longest=False),
    ):
        batch = next(iter(batches))
        loud = ["jump" in row for row in tokens(batch, vocabulary)]  # what makes a sentence loud
        assert [label == 0 for label in batch["label_ids"].numpy().tolist()] == loud


@pytest.mark.parametrize("stored", [PRETRAINING, LABELLED])
def test_the_tools_read_them(stored, tmp_path, capsys):
    directory = shutil.copytree(stored, tmp_path / "records")
    assert check_records(directory) == 0
    show_records(directory, 2)
    assert draw_statistics(directory).is_file() and draw_statistics(directory, recount=True).is_file()
    out = capsys.readouterr().out
    assert "all whole" in out and "[CLS]" in out
    assert read_manifest(directory) == read_manifest(stored)
