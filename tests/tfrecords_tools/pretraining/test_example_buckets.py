import numpy as np
import pytest

from tfrecords_tools.pretraining.example_buckets import Examples, count_examples, read_bucket, write_buckets


def to_examples(number, rng, dtype=np.uint16, start=0):
    """Examples whose pieces and labels tell which they are."""
    first, second = rng.integers(1, 30, number), rng.integers(0, 30, number)
    pieces = np.repeat(np.arange(start, start + number), first + second).astype(dtype)
    return Examples(pieces, first, second, np.arange(start, start + number) % 2)


def as_rows(examples):
    ends = np.cumsum(examples.first_lengths.astype(int) + examples.second_lengths)
    starts = [0, *ends][: len(ends)]
    columns = (examples.first_lengths, examples.second_lengths, examples.labels)
    return [
        (examples.pieces[start:end].tolist(), int(first), int(second), int(label))
        for start, end, first, second, label in zip(starts, ends, *columns, strict=True)
    ]


@pytest.mark.parametrize("dtype", [np.uint16, np.int32])
@pytest.mark.parametrize("num_buckets", [1, 3, 40])
def test_the_buckets_of_all_files_hold_every_example_once(tmp_path, dtype, num_buckets):
    rng = np.random.default_rng(0)
    files = [to_examples(17, rng, dtype), to_examples(0, rng, dtype), to_examples(30, rng, dtype, start=17)]
    paths = [tmp_path / f"{number}.bin" for number in range(len(files))]
    for path, examples in zip(paths, files, strict=True):
        write_buckets(path, examples, num_buckets, rng)
    found = [as_rows(read_bucket(paths, bucket, num_buckets, dtype)) for bucket in range(num_buckets)]
    assert sorted(sum(found, [])) == sorted(row for examples in files for row in as_rows(examples))
    counts = sum(count_examples(path, num_buckets) for path in paths)
    assert counts.tolist() == list(map(len, found))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.bin", "1.bin", "2.bin"]


@pytest.mark.slow
def test_each_file_is_dealt_out_evenly_and_at_random(tmp_path):
    rng = np.random.default_rng(1)
    first_of = np.zeros(4, int)
    for _ in range(400):
        write_buckets(tmp_path / "x.bin", to_examples(9, rng), 4, rng)
        counts = count_examples(tmp_path / "x.bin", 4)
        assert sorted(counts) == [2, 2, 2, 3]
        (bucket,) = [k for k in range(4) if 0 in read_bucket([tmp_path / "x.bin"], k, 4, np.uint16).pieces]
        first_of[bucket] += 1
    assert ((first_of - 100) ** 2 / 100).sum() < 40  # 3 degrees of freedom: p < 1e-8
