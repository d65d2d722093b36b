"""Finds documents that occurred before, word for word or nearly, from small fingerprints.

The fingerprint of a document is computed where the document is read. Whether it occurred before is decided
from the fingerprints alone, in the order of the corpus. So the result does not depend on which process
computed which fingerprint.
"""

import functools
import hashlib

import numpy as np

MODES = ("none", "exact", "near")

SHINGLE_WORDS = 5
NUM_BANDS = 16
HASHES_PER_BAND = 8
NUM_HASHES = NUM_BANDS * HASHES_PER_BAND
# A pair that shares a band and agrees in 96 of 128 hashes counts as near-duplicates. This finds all pairs
# with a Jaccard similarity of 0.9, nine in ten with 0.8, one in ten with 0.7 and none with 0.6 (measured by
# the tests).
MIN_EQUAL_HASHES = 96

_PIECE_CHARACTERS = 1 << 15
_SHINGLES_AT_ONCE = 1024

# The finalizer of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_WORD_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64
_SHINGLE_BASE = np.uint64(0xD1342543DE82EF95)

# Scripts written without spaces between words, so that every character counts as a word: Thai and Lao,
# Myanmar, Khmer, kana, ideographs.
_SPACELESS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF))
_SEPARATOR, _PART_OF_WORD, _WORD = 0, 1, 2


class Fingerprinter:
    """Computes the fingerprint of a document, which is all that is kept to find its duplicates.

    Args:
      mode: "exact" makes a 128-bit digest of the text, lower-cased, white space normalized: two numbers, 16
        bytes a document. "near" makes a MinHash signature of the text's word 5-grams: 16 numbers, 128 bytes.

    Attributes:
      num_numbers: how many numbers a fingerprint has.

    Call arguments:
      document: a list of lines in UTF-8.

    Returns:
      uint64 array of shape (num_numbers,).

    Example:
      fingerprints = np.stack([fingerprinter(document) for document in documents])
      is_duplicate = duplicates(fingerprints, "near")

    Reference:
      - Broder, "On the resemblance and containment of documents", 1997 (shingles, MinHash)
      - Li and König, "b-Bit minwise hashing", 2010 (eight bits of a hash are enough)
      - Leskovec, Rajaraman, Ullman, "Mining of massive datasets", chapter 3 (bands)
    """

    def __init__(self, mode: str):
        self.num_numbers = 2 if mode == "exact" else NUM_BANDS
        self._fingerprint = _digest
        if mode == "near":
            # Allocated once: allocating an array of this size takes longer than filling it.
            room = np.empty((NUM_HASHES, _SHINGLES_AT_ONCE), np.uint32)
            self._fingerprint = functools.partial(_signature, room=room)

    def __call__(self, document: list[bytes]) -> np.ndarray:
        return self._fingerprint(b" ".join(document).decode("utf-8").lower())


def duplicates(fingerprints: np.ndarray, mode: str) -> np.ndarray:
    """Tells which documents to drop, so that no document is left that resembles an earlier one.

    Args:
      fingerprints: uint64 array of shape (N, num_numbers), in the order of the corpus.
      mode: that of their `Fingerprinter`.

    Returns:
      bool array of shape (N,), True for a document with the text of an earlier one ("exact"), or for one that
      nearly equals an earlier document that is kept ("near").
    """
    fingerprints = np.ascontiguousarray(fingerprints, np.uint64)
    return _exact_duplicates(fingerprints) if mode == "exact" else _near_duplicates(fingerprints)


# ------------------------------------------------------------------------------ exact


def _digest(text) -> np.ndarray:
    normalized = " ".join(text.split()).encode("utf-8")
    return np.frombuffer(hashlib.blake2b(normalized, digest_size=16).digest(), np.uint64)


def _exact_duplicates(fingerprints) -> np.ndarray:
    is_duplicate = np.zeros(len(fingerprints), bool)
    order = np.lexsort(fingerprints.T)  # keeps the order of equal ones
    in_order = fingerprints[order]
    is_duplicate[order[1:]] = np.all(in_order[1:] == in_order[:-1], axis=1)
    return is_duplicate


# ------------------------------------------------------------------------------ near: signatures


def _signature(text, room) -> np.ndarray:
    """Minima of `NUM_HASHES` hash functions over the shingles, eight bits of each; each number is a band."""
    shingles = _shingle_hashes(_word_hashes(text))
    factors, offsets = _hash_functions()
    minima = np.full(NUM_HASHES, 0xFFFFFFFF, np.uint32)
    for start in range(0, len(shingles), _SHINGLES_AT_ONCE):
        some = shingles[start : start + _SHINGLES_AT_ONCE]
        hashes = np.multiply(factors, some, out=room[:, : len(some)])  # modulo 2**32
        hashes += offsets
        np.minimum(minima, hashes.min(axis=1), out=minima)
    # A minimum is a small number; multiplication spreads its bits into the upper eight, which are kept.
    minima *= np.uint32(0x9E3779B1)
    return (minima >> np.uint32(24)).astype(np.uint8).view(np.uint64)


@functools.cache
def _hash_functions():
    """Factors, odd, and offsets of x -> factor * x + offset modulo 2**32: two uint32 arrays (hashes, 1)."""
    # Raw numbers of the generator: NumPy promises that no version changes them.
    raw = np.random.PCG64(1997).random_raw(2 * NUM_HASHES) >> np.uint64(32)
    factors, offsets = raw.astype(np.uint32).reshape(2, NUM_HASHES, 1)
    return factors | np.uint32(1), offsets


def _shingle_hashes(words) -> np.ndarray:
    """uint32 hash of every run of `SHINGLE_WORDS` words; a shorter text gives one hash of all its words."""
    length = min(SHINGLE_WORDS, len(words))
    count = len(words) - length + 1
    shingles = words[:count].copy()
    for place in range(1, length):
        shingles *= _SHINGLE_BASE
        shingles += words[place : place + count]
    return (_mix(shingles) >> np.uint64(32)).astype(np.uint32)


def _word_hashes(text) -> np.ndarray:
    """uint64 hashes of the words: runs of letters, digits and marks, or a character of a spaceless script."""
    found, start = [], 0
    while start < len(text):
        end = min(len(text), start + _PIECE_CHARACTERS)
        if end < len(text):
            space = text.rfind(" ", start, end)
            end = space if space > start else end
        found.append(_word_hashes_of_piece(text[start:end]))
        start = end
    words = np.concatenate(found)
    if not len(words):  # only punctuation and symbols: the whole text counts as one word
        words = np.frombuffer(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), np.uint64)
    return words


def _word_hashes_of_piece(text) -> np.ndarray:
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    kinds = np.zeros(len(codes) + 2, np.uint8)
    kinds[1:-1] = _kinds_of_characters()[np.minimum(codes, 0xFFFF)]
    inner = kinds[1:-1]
    is_word = inner == _WORD
    starts = np.flatnonzero((inner != kinds[:-2]) & (inner != _SEPARATOR) | is_word)
    ends = np.flatnonzero((inner != kinds[2:]) & (inner != _SEPARATOR) | is_word) + 1
    # The hash of characters c0 c1 ... is c0 + c1 base + c2 base**2 ..., modulo 2**64. Differences of running
    # sums over the piece give the sums of all words; a power of the inverse base removes the word's offset.
    powers, inverse_powers = _powers()
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum(codes * powers[: len(codes)], out=sums[1:])
    return _mix((sums[ends] - sums[starts]) * inverse_powers[starts])


@functools.cache
def _kinds_of_characters() -> np.ndarray:
    """Kind of each code point up to U+FFFF, uint8 (65536,); the last entry is for all code points above."""
    kinds = np.full(1 << 16, _SEPARATOR, np.uint8)
    for code in range(len(kinds)):
        character = chr(code)
        # Combining marks are not letters, but they are part of words.
        if character.isalnum() or not character.isascii() and ("a" + character).isidentifier():
            kinds[code] = _PART_OF_WORD
    for first, last in _SPACELESS:
        spaceless = kinds[first : last + 1]
        spaceless[spaceless == _PART_OF_WORD] = _WORD
    kinds[-1] = _WORD
    return kinds


@functools.cache
def _powers():
    """Powers 0, 1, 2 ... of the base and of its inverse, modulo 2**64: two uint64 arrays."""
    bases = np.array([[_WORD_BASE], [pow(_WORD_BASE, -1, 1 << 64)]], np.uint64)
    powers = np.repeat(bases, _PIECE_CHARACTERS, axis=1)
    powers[:, 0] = 1
    return np.cumprod(powers, axis=1)


def _mix(values) -> np.ndarray:
    values = (values ^ (values >> np.uint64(30))) * _MIX_1
    values = (values ^ (values >> np.uint64(27))) * _MIX_2
    return values ^ (values >> np.uint64(31))


# ------------------------------------------------------------------------------ near: similar documents


def _near_duplicates(fingerprints) -> np.ndarray:
    is_duplicate = np.zeros(len(fingerprints), bool)
    signatures = fingerprints.view(np.uint8)
    is_shared = np.stack([_occurs_again(band) for band in fingerprints.T], axis=1)
    kept_with = {}  # (band, its number) -> documents that stay
    for document in np.flatnonzero(is_shared.any(axis=1)).tolist():
        keys = [(band, int(fingerprints[document, band])) for band in np.flatnonzero(is_shared[document])]
        candidates = list({other for key in keys for other in kept_with.get(key, ())})
        num_equal = np.count_nonzero(signatures[candidates] == signatures[document], axis=1)
        if np.any(num_equal >= MIN_EQUAL_HASHES):
            is_duplicate[document] = True
            continue
        for key in keys:
            kept_with.setdefault(key, []).append(document)
    return is_duplicate


def _occurs_again(numbers) -> np.ndarray:
    _, group, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    return sizes[group] > 1
