"""What reading promises: every record once an epoch, the same batches again, fixed shapes, fair shares."""

import shutil

import keras
import numpy as np
import pytest

from kbert.features import EXAMPLE_WEIGHTS
from kbert.input_pipelines.batches import evaluation_batches, training_batches
from kbert.input_pipelines.epochs import Share
from kbert.input_pipelines.masking import PieceMasker
from kbert.input_pipelines.records import record_reader
from kbert.input_pipelines.records.record_reader import RecordRows
from tests.conftest import mostly_long
from tests.kbert.input_pipelines.records import small_records

SIZES = (9, 2, 14, 0, 12)
NUMBER = sum(SIZES)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """(directory, manifest, columns) of masked records."""
    directory = tmp_path_factory.mktemp("small") / "records"
    return directory, *small_records.write(directory, SIZES)


def numbers(batches, count=None):
    """The numbers of the examples in batches."""
    found = []
    for batch in batches if count is None else batches.take(count):
        found += batch[small_records.NUMBERS].numpy()[:, 0].tolist()
    return found


def assert_same_batches(first, second):
    first, second = list(first), list(second)
    assert len(first) == len(second) > 0
    for one, other in zip(first, second, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize("suffix", mostly_long(["", ".gz"], (".gz",)))
def test_batches_hold_what_was_written(tmp_path, suffix):
    manifest, columns = small_records.write(tmp_path / "records", (5, 6), suffix=suffix)
    assert manifest.shards[0].file.endswith(".tfrecord" + suffix)
    rows = RecordRows(tmp_path / "records", manifest)
    (batch,) = evaluation_batches(rows, 11)
    for name, column in columns.items():
        np.testing.assert_array_equal(batch[name], column, err_msg=name)
        assert batch[name].dtype == manifest.features[name].dtype
    training = training_batches(rows, 11, seed=1)
    assert sorted(numbers(training, 1)) == list(range(11))


@pytest.mark.parametrize("seed", mostly_long([0, 7], (0,)))
def test_any_seed_of_a_training_orders_records(records, seed):
    """TensorFlow's own seed is that of the training, as the trainer sets it."""
    directory, manifest, _ = records
    keras.utils.set_random_seed(seed)
    batches = training_batches(RecordRows(directory, manifest), NUMBER, seed)
    first, second = numbers(batches, 1), numbers(batches, 2)[NUMBER:]
    assert first != second and sorted(first) == sorted(second) == list(range(NUMBER))


@pytest.mark.parametrize(("with_masks", "share"), [(True, Share()), (False, Share(2, 1))])
def test_all_shapes_are_fixed_for_xla(tmp_path, with_masks, share):
    manifest, _ = small_records.write(tmp_path / "records", SIZES, with_masks=with_masks)
    rows = RecordRows(tmp_path / "records", manifest)
    training = training_batches(rows, 8, seed=1, share=share)
    evaluation = evaluation_batches(rows, 8, with_fill=True, share=share)
    names = {name for name in small_records.examples(1)}
    for batches, more in ((training, set()), (evaluation, {EXAMPLE_WEIGHTS})):
        assert set(batches.element_spec) == names | more
        for name, spec in batches.element_spec.items():
            assert spec.shape.is_fully_defined() and spec.shape[0] == 8 // share.num_input_pipelines, name
    batch = next(iter(training))
    assert all(value.shape == training.element_spec[name].shape for name, value in batch.items())


# ---------------------------------------------------------------------------------------------- shares


@pytest.mark.slow
def test_every_record_is_in_one_share_once_an_epoch(records):
    """More pipelines than shards."""
    number = 7
    directory, manifest, _ = records
    shares, sizes = [], []
    for index in range(number):
        batches = training_batches(RecordRows(directory, manifest), number, 1, share=Share(number, index))
        size = (index + 1) * NUMBER // number - index * NUMBER // number
        found = numbers(batches, 2 * size)
        assert sorted(found[:size]) == sorted(found[size:])
        shares += found[:size]
        sizes.append(size)
    assert sorted(shares) == list(range(NUMBER))
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("max_batches", [-1, pytest.param(3, marks=pytest.mark.long)])
def test_evaluating_shares_are_the_rows_of_the_batches_of_one_pipeline(records, unmasked, max_batches):
    for directory, manifest, _ in (records, unmasked):
        rows = RecordRows(directory, manifest)
        whole, *parts = (
            list(evaluation_batches(rows, 8, with_fill=True, max_batches=max_batches, share=share))
            for share in (Share(), Share(2, 0), Share(2, 1))
        )
        assert_same_batches(
            whole,
            [
                {name: np.concatenate([one[name], other[name]]) for name in one}
                for one, other in zip(*parts, strict=True)
            ],
        )
        if max_batches < 0:
            real = [number for batch in whole for number in batch[small_records.NUMBERS].numpy()[:, 0]]
            weights = np.concatenate([batch[EXAMPLE_WEIGHTS] for batch in whole])
            assert np.asarray(real)[weights == 1].tolist() == list(range(NUMBER))


# ----------------------------------------------------------------------------------------- dynamic masks


@pytest.fixture(scope="module")
def unmasked(tmp_path_factory):
    directory = tmp_path_factory.mktemp("small") / "unmasked"
    return directory, *small_records.write(directory, SIZES, with_masks=False)


def restored(batch):
    """(numbers, input_ids as they were before masking) of a batch."""
    ids = batch["input_ids"].numpy().copy()
    rows, slots = np.nonzero(batch["masked_lm_weights"].numpy())
    places = batch["masked_lm_positions"].numpy()[rows, slots]
    ids[rows, places] = batch["masked_lm_ids"].numpy()[rows, slots]
    return batch[small_records.NUMBERS].numpy()[:, 0], ids


@pytest.mark.slow
def test_a_resumed_run_sees_the_very_same_masks(unmasked):
    directory, manifest, _ = unmasked
    start_example = 7 * 8

    def batches(start):
        return training_batches(RecordRows(directory, manifest), 8, 5, start)

    assert_same_batches(batches(start_example).take(6), batches(0).skip(start_example // 8).take(6))
    other = training_batches(RecordRows(directory, manifest), 8, 6, start_example)
    masks = [next(iter(b))["masked_lm_positions"].numpy() for b in (other, batches(start_example))]
    assert (masks[0] != masks[1]).any()


def test_masks_are_those_of_the_masker_with_the_manifests_settings(tmp_path):
    manifest, columns = small_records.write(
        tmp_path / "records",
        (12,),
        with_masks=False,
        do_whole_word_mask=True,
        max_ngram_size=2,
        masked_lm_prob=0.3,
    )

    masker = PieceMasker(
        small_records.VOCABULARY,
        max_predictions_per_seq=small_records.PREDICTIONS,
        masked_lm_prob=0.3,
        do_whole_word_mask=True,
        max_ngram_size=2,
    )
    for position, batch in enumerate(
        training_batches(RecordRows(tmp_path / "records", manifest), 6, 3).take(5)
    ):
        rows, _ = restored(batch)
        masked = masker(
            columns["input_ids"][rows],
            columns["input_mask"][rows].sum(axis=1),
            np.random.default_rng((3, 0, 6 * position)),
        )
        names = ("input_ids", "masked_lm_positions", "masked_lm_ids", "masked_lm_weights")
        for name, array in zip(names, masked, strict=True):
            np.testing.assert_array_equal(batch[name], array, err_msg=name)


def test_an_evaluation_has_the_same_masks_every_time_and_with_every_batch_size(unmasked, monkeypatch):
    directory, manifest, columns = unmasked
    monkeypatch.setattr(record_reader, "_PARSED_AT_ONCE", 16)  # several at once, of NUMBER records

    def arrays(batch_size, with_fill):
        batches = list(evaluation_batches(RecordRows(directory, manifest), batch_size, with_fill=with_fill))
        real = [batch[EXAMPLE_WEIGHTS].numpy() == 1 for batch in batches]
        return {
            name: np.concatenate([b[name].numpy()[r] for b, r in zip(batches, real, strict=True)])
            for name in batches[0]
        }

    expected = arrays(7, False)
    assert expected[small_records.NUMBERS][:, 0].tolist() == list(range(NUMBER))
    for with_fill in (False, True):
        received = arrays(5, with_fill)
        for name, value in expected.items():
            np.testing.assert_array_equal(received[name], value, err_msg=name)
    assert len({tuple(row) for row in expected["masked_lm_positions"].tolist()}) > NUMBER // 2


def test_replaced_records_are_refused(tmp_path):
    manifest, _ = small_records.write(tmp_path / "records", (5, 4))
    rows = RecordRows(tmp_path / "records", manifest)
    rows.require_unchanged()
    shutil.rmtree(tmp_path / "records")
    rows.require_unchanged()  # they may not be needed any more
    small_records.write(tmp_path / "records", (5, 4))
    rows.require_unchanged()  # made again, the same
    shutil.rmtree(tmp_path / "records")
    small_records.write(tmp_path / "records", (5, 4), seed=1)
    with pytest.raises(ValueError, match="the records were replaced while they were read"):
        rows.require_unchanged()


def test_shards_that_were_replaced_beside_their_manifest_are_refused(tmp_path):
    manifest, _ = small_records.write(tmp_path / "records", (5, 4))
    small_records.write(tmp_path / "others", (6, 5))
    for shard in manifest.shards:
        shutil.copy(next((tmp_path / "others").glob("*.tfrecord")), tmp_path / "records" / shard.file)
    with pytest.raises(ValueError, match="the records were replaced while they were read"):
        RecordRows(tmp_path / "records", manifest).require_unchanged()
