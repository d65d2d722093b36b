import numpy as np
import pytest

from kbert.features import encoder_features
from kbert.input_pipelines.records import record_reader
from kbert.input_pipelines.records.length_buckets import LengthBuckets
from tests.kbert.input_pipelines.records import small_records

NUMBER = 61
LENGTH = small_records.LENGTH


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Those that are masked while they are read."""
    directory = tmp_path_factory.mktemp("small") / "records"
    return directory, *small_records.write(directory, (30, 31), with_masks=False)


def batches_of(directory, manifest, start_example=0, **settings):
    settings = {"length_buckets": (12, 18)} | settings
    return record_reader.training_batches(directory, manifest, 6, 1, start_example, **settings)


def test_every_example_once_an_epoch_in_a_batch_of_its_length(records):
    directory, manifest, columns = records
    seen, shapes, masks = [], [], []
    for batch in batches_of(directory, manifest):
        if len(seen) >= 2 * NUMBER:
            break
        rows = batch[small_records.NUMBERS].numpy()[:, 0]
        length = batch["input_ids"].shape[1]
        lengths = columns["input_mask"][rows].sum(axis=1)
        below = {12: 0, 18: 12, LENGTH: 18}[length]
        assert ((below < lengths) & (lengths <= length)).all()
        for name in ("input_mask", "segment_ids"):
            np.testing.assert_array_equal(batch[name], columns[name][rows, :length])
        assert batch["masked_lm_positions"].shape[1] == small_records.PREDICTIONS
        assert len(rows) <= {12: 12, 18: 8, LENGTH: 6}[length]  # about 6 x 24 tokens each
        seen += rows.tolist()
        shapes.append(batch["input_ids"].shape)
        masks.append(batch["masked_lm_positions"].numpy())
    assert sorted(seen[:NUMBER]) == sorted(seen[NUMBER:]) == list(range(NUMBER))
    assert seen[:NUMBER] != seen[NUMBER:]
    assert {(12, 12), (8, 18), (6, LENGTH)} <= {tuple(shape) for shape in shapes}


@pytest.mark.slow
def test_buckets_resume_at_any_batch(records):
    start_batch = 17
    directory, manifest, _ = records
    resumed = list(batches_of(directory, manifest, start_batch * 6).take(12))
    uninterrupted = list(batches_of(directory, manifest).skip(start_batch).take(12))
    for one, other in zip(resumed, uninterrupted, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize(
    ("lengths", "sentence"),
    [
        ((8, 8), r"length_buckets=\[8, 8\] must be ascending lengths, for example 32,64,96,128"),
        ((0, 8), "must be ascending lengths"),
        ((8, 32), "goes beyond max_seq_length=16 of the records"),
    ],
)
def test_lengths_that_make_no_buckets_are_refused(lengths, sentence):
    with pytest.raises(ValueError, match=sentence):
        LengthBuckets(lengths, encoder_features(16), 3)
