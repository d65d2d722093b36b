"""An iterator has no tuner, for which it would wait when it ends."""

import numpy as np
import pytest

from kbert.input_pipelines.batches import evaluation_batches, training_batches
from kbert.input_pipelines.epochs import Share
from kbert.input_pipelines.records.record_reader import RecordRows
from kbert.input_pipelines.text_reader import RowsInMemory
from tests.kbert.input_pipelines.records import small_records

FEATURES = {"input_ids": np.ones((9, 4), np.int32), "input_mask": np.ones((9, 4), np.int32)}
HALF = Share(2, 1)


@pytest.mark.parametrize("share", [Share(), HALF], ids=["whole", "half"])
def test_all_that_is_read_does_without(tmp_path, share):
    manifest, _ = small_records.write(tmp_path / "records", (5, 6))
    records = RecordRows(tmp_path / "records", manifest)
    datasets = [
        training_batches(RowsInMemory(FEATURES), 4, 1, 0, True, share=share),
        evaluation_batches(RowsInMemory(FEATURES), 4, True, share=share),
        training_batches(records, 4, 1, share=share),
        evaluation_batches(records, 4, share=share),
    ]
    assert [dataset.options().autotune.enabled for dataset in datasets] == [False] * 4
    # Whoever builds on them need not think of it.
    assert datasets[0].map(lambda batch: batch).prefetch(1).options().autotune.enabled is False
