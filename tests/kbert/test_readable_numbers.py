import pytest
from kbert.readable_numbers import readable_count, readable_seconds


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (950.4, "950"), (999.96, "1.0k"), (91234, "91.2k"), (3.1e9, "3.1G"), (2.5e12, "2.5T")],
)
def test_counts_are_short(number, shown):
    assert readable_count(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(12.4, "12s"), (75, "1m15s"), (3700, "1h01m"), (400000, "111h06m")]
)
def test_seconds_are_short(seconds, shown):
    assert readable_seconds(seconds) == shown
