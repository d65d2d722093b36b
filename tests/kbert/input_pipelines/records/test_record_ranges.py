"""Numbers outside their range are found where records are read, and named with file and record."""

import dataclasses

import numpy as np
import pytest

from kbert.features import SPAN_FEATURES, Feature, encoder_features
from kbert.input_pipelines.batches import evaluation_batches, training_batches
from kbert.input_pipelines.records.record_ranges import ranges, wrong_numbers
from kbert.input_pipelines.records.record_reader import RecordRows, naming_damaged_records
from kbert.manifest import Manifest, describe_shards
from tests.kbert.input_pipelines.records import small_records
from tfrecords_tools.records.check_records import check_records
from tfrecords_tools.records.tfrecord_files import encode_examples, framed

SIZE, LENGTH = len(small_records.VOCABULARY), small_records.LENGTH
LABELS = ["no", "yes"]
WRONG = {
    "a piece beyond the vocabulary": ("input_ids", SIZE, f"holds {SIZE}, expected 0 to {SIZE - 1}"),
    "a piece that int32 would turn around": ("input_ids", (1 << 32) + 7, "holds 4294967303, expected 0 to"),
    "a place outside the row": ("masked_lm_positions", LENGTH, f"holds {LENGTH}, expected 0 to {LENGTH - 1}"),
    "a weight that is no number": ("masked_lm_weights", float("nan"), "holds a number that is not finite"),
    "another feature beyond int32": (
        small_records.NUMBERS,
        1 << 31,
        "holds 2147483648, expected -2147483648 to",
    ),
}
SHARDS, RECORD = (5, 6), 7  # the record that is changed is the third of the second shard


@pytest.fixture
def write(tmp_path):
    """Writes records of which one has another number; returns (folder, manifest)."""

    def write(name=None, value=None, with_masks=True):
        directory = tmp_path / "records"
        manifest, columns = small_records.write(directory, SHARDS, with_masks=with_masks)
        columns["label_ids"] = np.arange(sum(SHARDS)) % 2
        features = manifest.features | {"label_ids": Feature("int32", ())}
        if name:
            columns[name] = columns[name].astype(np.float64 if isinstance(value, float) else np.int64)
            columns[name].reshape(sum(SHARDS), -1)[RECORD, -1] = value
        records = encode_examples(columns, features)
        sizes, first = {shard.file: shard.num_examples for shard in manifest.shards}, 0
        for file, size in sizes.items():
            (directory / file).write_bytes(b"".join(framed(records[first : first + size])))
            first += size
        manifest = dataclasses.replace(
            manifest,
            features=features,
            shards=describe_shards(directory, sizes),
            settings=manifest.settings | {"dataset": {"labels": LABELS}},
        )
        manifest.write(directory)
        return directory, manifest

    return write


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_a_number_out_of_its_range_stops_the_reading(write, wrong):
    name, value, sentence = WRONG[wrong]
    directory, manifest = write(name, value)
    sentence = f"{directory / manifest.shards[1].file} record 2: {name} {sentence}"
    for make in (
        lambda: list(training_batches(RecordRows(directory, manifest), 4, 1).take(5)),
        lambda: list(evaluation_batches(RecordRows(directory, manifest), 4)),
    ):
        with pytest.raises(ValueError) as error, naming_damaged_records(RecordRows(directory, manifest)):
            make()
        assert str(error.value).startswith(sentence) and str(error.value).endswith(
            "; make the records again."
        )


def test_whole_shards_are_checked_for_their_numbers_too(write, capsys):
    directory, manifest = write("label_ids", 2)
    assert check_records(directory) == 1
    problem, summary = capsys.readouterr().out.splitlines()
    assert problem == f"{directory / manifest.shards[1].file} record 2: label_ids holds 2, expected 0 to 1"
    assert ", 1 problems: make the records again" in summary


def test_an_answer_stands_in_its_row():
    features = encoder_features(4) | dict.fromkeys(SPAN_FEATURES, Feature("int32", ()))
    manifest = Manifest("questions", features, (), {"size": 9})
    assert {ranges(manifest)[name] for name in SPAN_FEATURES} == {(0, 3)}


def test_records_that_are_masked_while_they_are_read_are_checked_before(write):
    value = -1
    directory, manifest = write("input_ids", value, with_masks=False)
    with (
        pytest.raises(ValueError, match=f"record 2: input_ids holds {value}, expected"),
        naming_damaged_records(RecordRows(directory, manifest)),
    ):
        list(training_batches(RecordRows(directory, manifest), 4, 1).take(5))


def test_a_label_for_every_token_may_be_below_zero_where_none_is_asked_for():
    features = encoder_features(4) | {"label_ids": Feature("int32", (4,))}
    manifest = Manifest("ner", features, (), {"size": 9}, {"dataset": {"labels": LABELS}})
    columns = {name: np.zeros((2, 4), np.int64) for name in features}
    assert ranges(manifest)["label_ids"][1] == 1
    columns["label_ids"][1, 2] = -100
    assert wrong_numbers(columns, manifest) is None
    columns["label_ids"][1, 3] = 2
    assert wrong_numbers(columns, manifest) == "label_ids holds 2, expected -2147483648 to 1"


@pytest.mark.parametrize("labels", [["toxic"], list("abcdefgh")])
def test_several_labels_are_each_0_or_1(labels):
    features = encoder_features(4) | {"label_ids": Feature("int32", (len(labels),))}
    manifest = Manifest("topics", features, (), {"size": 9}, {"dataset": {"labels": labels}})
    assert ranges(manifest)["label_ids"] == (0, 1)
