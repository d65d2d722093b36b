"""New pieces for an existing vocabulary, without moving any of its ids. Standard library only."""

import re
from collections.abc import Sequence

UNUSED_TOKEN = re.compile(r"\[unused\d+\]")


def unused_slots(tokens: Sequence[str]) -> list[int]:
    """The ids of the `[unusedN]` tokens, in order."""
    return [index for index, token in enumerate(tokens) if UNUSED_TOKEN.fullmatch(token)]


def fill_unused_slots(tokens: Sequence[str], pieces: Sequence[str]) -> list[str]:
    """Replaces `[unusedN]` tokens by pieces, at most as many, in order; the size stays the same."""
    filled = list(tokens)
    for slot, piece in zip(unused_slots(tokens), pieces, strict=False):
        filled[slot] = piece
    return filled
