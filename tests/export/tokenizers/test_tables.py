"""The committed tables are what the graph does, and every way of writing them is read back."""

import random

import pytest

from export.tokenizers.python.code_points import CodePointSet, numbers
from export.tokenizers.tables.compact import base36, compact_numbers, compact_set, compact_shifts
from export.tokenizers.tables.graph_facts import graph_facts
from export.tokenizers.tables.source_files import source_files


@pytest.mark.slow
@pytest.mark.long
def test_the_tables_are_those_of_the_graph():
    """After a new TensorFlow: python -m export.tokenizers.write_unicode_tables."""
    for path, content in source_files(graph_facts()).items():
        assert path.read_text(encoding="utf-8") == content, f"{path} is of another TensorFlow"


def test_sets_are_read_back():
    rng = random.Random(1)
    for density in (2, 10, 1000):
        codes = {code for code in range(3000) if rng.randrange(density) == 0} | {0, 0x10FFFF}
        assert list(CodePointSet(compact_set(codes))) == sorted(codes)


def test_runs_of_shifts_are_read_back():
    """Alphabets side by side, pairs of a capital and a small letter, several code points, and neighbours."""
    folded = {code: (code + 32,) for code in range(65, 91)}
    folded |= {code: (code + 1,) for code in range(256, 300, 2)} | {271: (5,), 400: (7, 900), 401: (8, 901)}
    read = {code: tuple(code + n for n in own) for code, own in numbers(compact_shifts(folded))}
    assert read == folded and len(compact_shifts(folded).split(" ")) < 8
    ranks = {7: 1, 8: 1, 9: 40, 1000: 1}
    assert {code: rank for code, (rank,) in numbers(compact_numbers(ranks))} == ranks


def test_base_36_is_pythons_own():
    for number in (0, 1, 35, 36, -1, -1296, 0x10FFFF):
        assert int(base36(number), 36) == number
