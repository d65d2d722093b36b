"""The end of iterators: the two sides differ in the tuner alone, and the table counts slow deletions."""

from benchmarks import iterator_end


def test_one_side_has_the_tuner_and_both_give_the_same_batches():
    sides = iterator_end.datasets()
    assert [one.options().autotune.enabled for one in sides.values()] == [True, False]
    first, second = (next(iter(one))["input_ids"].numpy().tolist() for one in sides.values())
    assert first == second


def test_the_deletion_is_timed_and_not_the_hold(monkeypatch):
    class Numbers:
        def __iter__(self):
            return iter(range(100))

    held = []
    monkeypatch.setattr(iterator_end.time, "sleep", held.append)
    monkeypatch.setattr(iterator_end.time, "perf_counter", iter([10.0, 12.5]).__next__)
    assert iterator_end.seconds_to_delete(Numbers(), 6.0) == 2.5 and held == [6.0]


def test_deletions_over_a_second_are_counted():
    slow = iterator_end.figures([0.001, 0.002, 1.0, 1.5, 40.0], [4000.0, 5000.0, 4500.0])
    fast = iterator_end.figures([0.001] * 5, [7000.0])
    assert (slow["median_seconds"], slow["slowest_seconds"], slow["over_one_second"]) == (1.0, 40.0, 2)
    assert iterator_end.table({"with the tuner": slow, "without it": fast}, 6.0).splitlines() == [
        "| 5 iterators, deleted after 6 s | median s | slowest s | over 1 s | batches of 32 a second |",
        "|---|---:|---:|---:|---:|",
        "| with the tuner | 1.000 | 40.00 | 2 | 4,500 |",
        "| without it | 0.001 | 0.00 | 0 | 7,000 |",
    ]
