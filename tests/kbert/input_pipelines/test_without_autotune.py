"""An iterator has no tuner, for which it would wait when it ends."""

import json

import numpy as np
import pytest

from kbert.input_pipelines import text_reader
from kbert.input_pipelines.epochs import Share
from kbert.input_pipelines.records import record_reader
from tests import warm_processes
from tests.kbert.input_pipelines.records import small_records

FEATURES = {"input_ids": np.ones((9, 4), np.int32), "input_mask": np.ones((9, 4), np.int32)}
HALF = Share(2, 1)


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
