"""Chunks of bytes -> numbers, for many at once: a hash table in NumPy."""

from typing import NamedTuple

import numpy as np

PADDING = 16  # bytes that follow the last chunk of a text
_LONGEST = 15  # bytes of a chunk in a key
# By the length of a chunk: which of eight bytes are its own, and which of the eight bytes after these.
_FIRST = np.array([(1 << 8 * min(length, 8)) - 1 for length in range(_LONGEST + 1)], np.uint64)
_SECOND = np.array([(1 << 8 * max(length - 8, 0)) - 1 for length in range(_LONGEST + 1)], np.uint64)
_LENGTH = np.arange(_LONGEST + 1, dtype=np.uint64) << np.uint64(56)
_LONG = np.uint64(0xFF << 56)
# Odd numbers of 64 random bits, from xxHash: PRIME64_1 and PRIME64_2.
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)


class Keys(NamedTuple):
    """Two numbers for each chunk; equal pairs are equal chunks.

    They hold the bytes and the length of a chunk of up to 15 bytes. Of a longer one the first is a number
    that `ChunkTable` gives it.

    Args:
      first, second: uint64 (chunks,).
    """

    first: np.ndarray
    second: np.ndarray

    def take(self, rows: np.ndarray) -> "Keys":
        return Keys(self.first[rows], self.second[rows])

    def differ(self, others: "Keys") -> np.ndarray:
        """bool (chunks,)."""
        return (self.first != others.first) | (self.second != others.second)

    def hashes(self) -> np.ndarray:
        """uint64 (chunks,); unlike keys may have equal ones."""
        return self.first * _FIRST_FACTOR + self.second * _SECOND_FACTOR


class ChunkTable:
    """Numbers chunks from 1 on, in the order in which they are added."""

    def __init__(self):
        self._keys = Keys(np.zeros(1, np.uint64), np.zeros(1, np.uint64))  # by number; 0 is no chunk's
        self._slots = np.zeros(1 << 16, np.int64)  # numbers by hash, 0 where there is none
        self._long: dict[bytes, int] = {}

    def __len__(self):
        return len(self._keys.first) - 1

    def keys(self, text: bytes, starts: np.ndarray, ends: np.ndarray) -> Keys:
        """The keys of chunks of a text, behind the last of which stand `PADDING` bytes or more."""
        lengths = ends - starts
        kept = np.minimum(lengths, _LONGEST)
        eight = np.ndarray(len(text) - 7, "<u8", text, strides=(1,))  # the bytes from each position on
        first, second = eight[starts] & _FIRST[kept], eight[starts + 8] & _SECOND[kept] | _LENGTH[kept]
        if len(rows := np.flatnonzero(lengths > _LONGEST)):
            long = self._long
            bounds = zip(starts[rows].tolist(), ends[rows].tolist(), strict=True)
            first[rows] = [long.setdefault(text[start:end], len(long)) for start, end in bounds]
            second[rows] = _LONG
        return Keys(first, second)

    def find(self, keys: Keys) -> np.ndarray:
        """The number of each chunk, 0 of those that were not added: int64 (chunks,)."""
        slots = self._first_slots(keys)
        numbers = self._slots[slots]
        rows = np.flatnonzero(self._keys.take(numbers).differ(keys))
        while len(rows := rows[numbers[rows] > 0]):
            slots[rows] = (slots[rows] + 1) % len(self._slots)
            numbers[rows] = self._slots[slots[rows]]
            rows = rows[self._keys.take(numbers[rows]).differ(keys.take(rows))]
        return numbers

    def add(self, keys: Keys):
        """Adds chunks, none of them twice."""
        first = len(self) + 1
        self._keys = Keys(*map(np.append, self._keys, keys))
        if 2 * len(self) > len(self._slots):
            self._slots, first = np.zeros(4 << len(self).bit_length(), np.int64), 1
        numbers = np.arange(first, len(self) + 1)
        slots = self._first_slots(self._keys.take(numbers))
        while len(numbers):
            free = self._slots[slots] == 0
            self._slots[slots[free]] = numbers[free]  # where several want one slot, the last has it
            rest = self._slots[slots] != numbers
            numbers, slots = numbers[rest], (slots[rest] + 1) % len(self._slots)

    def _first_slots(self, keys):
        """Where each chunk is looked for first: int64 (chunks,). The slots after it follow."""
        return (keys.hashes() >> np.uint64(65 - len(self._slots).bit_length())).astype(np.int64)
