"""An iterator has no tuner, for which it would wait when it ends."""

import json
import os
import sys

import numpy as np
import pytest
import tensorflow as tf

from kbert.input_pipelines import text_reader
from kbert.input_pipelines.epochs import Share, without_autotune
from kbert.input_pipelines.records import record_reader
from tests import warm_processes
from tests.kbert.input_pipelines.records import small_records

FEATURES = {"input_ids": np.ones((9, 4), np.int32), "input_mask": np.ones((9, 4), np.int32)}
HALF = Share(2, 1)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_an_iterator_starts_no_thread():
    def started_by(dataset):
        """How many threads the first elements of 30 iterators start."""
        iterators = [iter(dataset) for _ in range(30)]
        before = len(os.listdir("/proc/self/task"))
        assert [next(one).numpy() for one in iterators] == [0] * 30
        return len(os.listdir("/proc/self/task")) - before

    numbers = tf.data.Dataset.range(5)
    # First without: threads of an ended iterator are used again.
    assert started_by(without_autotune(numbers)) < 5
    assert started_by(numbers) > 15  # so a tuner would have been seen


@pytest.mark.parametrize("share", [Share(), HALF], ids=["whole", "half"])
def test_all_that_is_read_does_without(tmp_path, share):
    manifest, _ = small_records.write(tmp_path / "records", (5, 6))
    datasets = [
        text_reader.training_batches(FEATURES, 4, 1, 0, True, share=share),
        text_reader.evaluation_batches(FEATURES, 4, True, share=share),
        record_reader.training_batches(tmp_path / "records", manifest, 4, 1, share=share),
        record_reader.evaluation_batches(tmp_path / "records", manifest, 4, share=share),
    ]
    assert [dataset.options().autotune.enabled for dataset in datasets] == [False] * 4
    # Whoever builds on them need not think of it.
    assert datasets[0].map(lambda batch: batch).prefetch(1).options().autotune.enabled is False


@pytest.mark.slow
@pytest.mark.long
def test_no_device_of_a_mirrored_training_has_a_tuner():
    result = warm_processes.run_script("tests.kbert.input_pipelines.mirrored_tuners")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["tf.distribute"] == [None, None]  # TensorFlow's default, which is on
    assert found["kbert"] == [False, False]
    assert found["parts"] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
