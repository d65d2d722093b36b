"""Pieces in the place of [unused] tokens."""

import pytest

from tfrecords_tools.vocabulary.vocabulary_merge import fill_unused_slots, unused_slots

TOKENS = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "a", "[unused]", "[unused12]", "##unused3"]


def test_slots_are_the_numbered_unused_tokens():
    assert unused_slots(TOKENS) == [1, 2, 6]


def test_pieces_fill_the_slots_from_the_front_and_nothing_else_moves():
    filled = fill_unused_slots(TOKENS, ["x", "##y"])
    assert filled == ["[PAD]", "x", "##y", "[UNK]", "a", "[unused]", "[unused12]", "##unused3"]
    assert TOKENS[1] == "[unused0]"


def test_too_many_pieces_are_refused():
    with pytest.raises(ValueError, match="4 new pieces do not fit into 3"):
        fill_unused_slots(TOKENS, list("wxyz"))
