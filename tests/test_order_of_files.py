"""The order in which the suite's files are handed out."""

from pathlib import Path
from types import SimpleNamespace

from tests.order_of_files import longest_first


def test_files_with_slow_tests_come_first_and_keep_their_own_order():
    def tests(file, marks):
        return [
            SimpleNamespace(path=Path(file), name=f"{file}{number}", get_closest_marker=lambda _, m=mark: m)
            for number, mark in enumerate(marks)
        ]

    items = (
        tests("a", [None]) + tests("b", [None] * 3) + tests("c", [None, "slow"]) + tests("d", ["slow"] * 2)
    )
    longest_first(items)
    assert [item.name for item in items] == ["d0", "d1", "c0", "c1", "b0", "b1", "b2", "a0"]
