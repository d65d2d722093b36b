import subprocess
import sys

import numpy as np
import pytest
from tfrecords_tools.corpus.duplicates import Fingerprinter, duplicates

NUM_PAIRS = 300


def fingerprints(documents, mode):
    fingerprinter = Fingerprinter(mode)
    return np.stack([fingerprinter([line.encode() for line in document]) for document in documents])


def find(documents, mode):
    return duplicates(fingerprints(documents, mode), mode).tolist()


def shingles(words):
    return {tuple(words[start : start + 5]) for start in range(len(words) - 4)}


def pairs_of_texts(similarity, num_shingles, rng):
    """Pairs of texts that begin alike, with this Jaccard similarity of their word 5-grams."""
    num_common = round(2 * num_shingles * similarity / (1 + similarity))
    pairs = []
    for _ in range(NUM_PAIRS):
        words = rng.integers(0, 1 << 40, 2 * num_shingles + 8).astype(str).tolist()
        first = words[: num_shingles + 4]
        second = words[: num_common + 4] + words[num_shingles + 4 :][: num_shingles - num_common]
        a, b = shingles(first), shingles(second)
        assert len(a & b) / len(a | b) == pytest.approx(similarity, abs=0.01)
        pairs += [[" ".join(first)], [" ".join(second)]]
    return pairs


# ------------------------------------------------------------------------------ exact


def test_exact_duplicates_are_those_of_the_text_whatever_its_case_and_white_space():
    documents = [
        ["One two three.", "Four."],
        ["Another text."],
        ["one  two", "THREE.\u3000four."],
        ["One two three, four."],
        ["another text."],
        ["One two three. Four."],
    ]
    assert find(documents, "exact") == [False, False, True, False, True, True]


# ------------------------------------------------------------------------------ near


@pytest.mark.parametrize(
    "similarity,least,most", [(0.9, 0.99, 1.0), (0.8, 0.82, 0.97), (0.6, 0.0, 0.02), (0.3, 0.0, 0.0)]
)
def test_near_duplicates_are_found_by_their_similarity(similarity, least, most):
    """Recall of 0.89 at a similarity of 0.8 and of 1.0 at 0.9; no pair of 0.3 is ever taken for one."""
    documents = pairs_of_texts(similarity, 60, np.random.default_rng(1))
    found = np.array(find(documents, "near"))
    assert not found[::2].any()
    assert least <= found[1::2].mean() <= most


def test_near_duplicates_are_those_of_comparing_each_with_all_that_stay():
    rng = np.random.default_rng(3)
    documents = []
    for _ in range(60):  # families in which each is like the next, but the first seldom like the last
        words = rng.integers(0, 1000, 80).astype(str)
        for _ in range(5):
            words = words.copy()
            words[rng.integers(0, 80, 2)] = rng.integers(0, 1000, 2).astype(str)
            documents.append([" ".join(words)])
    documents = [documents[number] for number in rng.permutation(len(documents))]
    prints = fingerprints(documents, "near")
    signatures, kept, expected = prints.view(np.uint8), [], []
    for number in range(len(documents)):
        is_like = [
            np.sum(signatures[number] == signatures[other]) >= 96 and np.any(prints[number] == prints[other])
            for other in kept
        ]
        expected.append(any(is_like))
        if not any(is_like):
            kept.append(number)
    assert 60 < sum(expected) < 240
    assert duplicates(prints, "near").tolist() == expected


def test_case_punctuation_and_lines_make_no_difference_to_near_duplicates():
    rng = np.random.default_rng(4)
    words = ["".join(map(chr, rng.integers(97, 123, 6))) for _ in range(30_000)]  # several pieces of text
    plain = [" ".join(words)]
    marked = ["\u201c" + ", ".join(words[:9_000]).upper(), "\u2014".join(words[9_000:]) + "!?"]
    prints = fingerprints([plain, marked], "near")
    assert np.array_equal(prints[0], prints[1])


@pytest.mark.parametrize(
    ("documents", "found"),
    [
        ([["one two"], ["One, two!"], ["one three"], ["one two three four"]], [False, True, False, False]),
        ([["one"], ["two one"], ["ONE"]], [False, False, True]),
        ([["* * *"], ["---"], ["* * *"], ["\u2026"]], [False, False, True, False]),
        ([["\u0915\u093c"], ["\u0915"]], [False, False]),  # a Devanagari letter with and without its mark
    ],
    ids=["few words", "one word", "no words", "marks belong to words"],
)
def test_texts_too_short_for_shingles_are_told_apart_by_their_words(documents, found):
    assert find(documents, "near") == found


def test_characters_are_the_words_of_scripts_without_spaces():
    rng = np.random.default_rng(5)
    first = "".join(map(chr, rng.integers(0x4E00, 0x9FA5, 400)))
    other = "".join(map(chr, rng.integers(0x4E00, 0x9FA5, 400)))
    beyond = "".join(map(chr, rng.integers(0x20000, 0x2A6DF, 400)))
    changed = first[:200] + "\u4e00\u3002" + first[201:]
    assert find([[first], [other], [changed], [beyond], [beyond[:-3]]], "near") == [
        *(False, False, True, False, True)
    ]


# ------------------------------------------------------------------------------ both


@pytest.mark.parametrize("mode", ["exact", "near"])
def test_fingerprints_do_not_depend_on_the_process(mode):
    script = (
        "import sys; from tfrecords_tools.corpus.duplicates import Fingerprinter; "
        f"sys.stdout.write(Fingerprinter('{mode}')([b'one two', b'three four five six']).tobytes().hex())"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    fingerprinter = Fingerprinter(mode)
    fingerprint = fingerprinter([b"one two", b"three four five six"])
    assert fingerprint.tobytes().hex() == found
    assert fingerprint.shape == (fingerprinter.num_numbers,)
    assert fingerprint.dtype == np.uint64
