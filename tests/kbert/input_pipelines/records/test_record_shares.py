import pytest

from kbert.input_pipelines.epochs import Share, share_range
from kbert.input_pipelines.records.record_reader import RecordRange as Range
from kbert.input_pipelines.records.record_reader import locate_records
from kbert.manifest import Shard

SHARDS = [Shard(name, number, 9, "0" * 64) for name, number in zip("abcd", (4, 0, 6, 1), strict=True)]


@pytest.mark.parametrize("number", [1, 2, 3, 11, 14])
def test_shares_are_the_records_cut_into_even_ranges(number):
    ranges = [share_range(11, Share(number, index)) for index in range(number)]
    assert ranges[0][0] == 0 and ranges[-1][1] == 11
    assert all(first[1] == second[0] for first, second in zip(ranges, ranges[1:], strict=False))
    sizes = [end - start for start, end in ranges]
    assert max(sizes) - min(sizes) <= 1


def test_a_range_is_whole_files_and_parts_of_files():
    assert locate_records(SHARDS, 0, 11) == [
        Range("a", 0, -1),
        Range("c", 0, -1),
        Range("d", 0, -1),
    ]
    assert locate_records(SHARDS, 0, 4) == [Range("a", 0, -1)]
    assert locate_records(SHARDS, 2, 9) == [Range("a", 2, -1), Range("c", 0, 5)]
    assert locate_records(SHARDS, 5, 6) == [Range("c", 1, 1)]
    assert locate_records(SHARDS, 10, 11) == [Range("d", 0, -1)]
    assert locate_records(SHARDS, 4, 4) == []
