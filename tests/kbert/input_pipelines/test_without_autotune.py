"""An iterator has no tuner, for which it would wait when it ends."""

import numpy as np
import pytest

from kbert.input_pipelines import text_reader
from kbert.input_pipelines.epochs import Share
from kbert.input_pipelines.records import record_reader
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
