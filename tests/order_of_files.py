"""The files of the suite, longest first: the last to be handed out are short, so all workers end together."""

from collections import Counter


def longest_first(items: list) -> None:
    """Sorts collected tests in place by their file; within a file their order stays.

    The number of tests marked `slow` stands for a file's length, then the number of all its tests. Every
    worker finds the same order, which pytest-xdist needs; `--no-loadscope-reorder` makes it keep that order.
    """
    slow, number = Counter(), Counter()
    for item in items:
        slow[item.path] += item.get_closest_marker("slow") is not None
        number[item.path] += 1
    items.sort(key=lambda item: (-slow[item.path], -number[item.path], str(item.path)))
