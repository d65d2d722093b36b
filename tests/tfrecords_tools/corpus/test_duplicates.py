import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrecords_tools.corpus.documents import Problems, TextFormat, plan_units, read_documents
from tfrecords_tools.corpus.duplicates import Fingerprinter, duplicates

NOVELS = Path(__file__).parents[4] / "shared" / "data" / "eltec_eng"
NUM_PAIRS = 300


def fingerprints(documents, mode):
    fingerprinter = Fingerprinter(mode)
    return np.stack([fingerprinter([line.encode() for line in document]) for document in documents])


def find(documents, mode):
    return duplicates(fingerprints(documents, mode), mode).tolist()


def shingles(words):
    return {tuple(words[start : start + 5]) for start in range(len(words) - 4)}


def pairs_of_texts(similarity, num_shingles, rng):
    """Pairs of texts that begin alike, and the Jaccard similarity of their word 5-grams, the same for all."""
    num_common = round(2 * num_shingles * similarity / (1 + similarity))
    pairs = []
    for _ in range(NUM_PAIRS):
        words = rng.integers(0, 1 << 40, 2 * num_shingles + 8).astype(str).tolist()
        first = words[: num_shingles + 4]
        second = words[: num_common + 4] + words[num_shingles + 4 :][: num_shingles - num_common]
        a, b = shingles(first), shingles(second)
        jaccard = len(a & b) / len(a | b)
        assert jaccard == pytest.approx(similarity, abs=0.01)
        pairs += [[" ".join(first)], [" ".join(second)]]
    return pairs, jaccard


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


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="ab \u00c9\u00e9", min_size=1, max_size=3), min_size=1, max_size=30))
def test_exact_duplicates_leave_the_first_of_each_text(texts):
    normal = [" ".join(text.lower().split()) for text in texts]
    assert find([[text] for text in texts], "exact") == [
        text in normal[:number] for number, text in enumerate(normal)
    ]


# ------------------------------------------------------------------------------ near


@pytest.mark.parametrize("num_shingles", [60, 500])
@pytest.mark.parametrize(
    "similarity,least,most", [(0.9, 0.99, 1.0), (0.8, 0.82, 0.97), (0.6, 0.0, 0.02), (0.3, 0.0, 0.0)]
)
def test_near_duplicates_are_found_by_their_similarity(similarity, num_shingles, least, most):
    """Recall of 0.89 at a similarity of 0.8 and of 1.0 at 0.9; no pair of 0.3 is ever taken for one."""
    documents, _ = pairs_of_texts(similarity, num_shingles, np.random.default_rng(1))
    found = np.array(find(documents, "near"))
    assert not found[::2].any()
    assert least <= found[1::2].mean() <= most


@pytest.mark.parametrize("similarity", [0.3, 0.6, 0.9])
def test_signatures_agree_in_proportion_to_the_similarity(similarity):
    """Eight bits agree by chance once in 256 times (Li and König, 2010); the spread is binomial."""
    documents, jaccard = pairs_of_texts(similarity, 200, np.random.default_rng(2))
    signatures = fingerprints(documents, "near").view(np.uint8).reshape(NUM_PAIRS, 2, -1)
    num_hashes = signatures.shape[-1]
    agreement = np.mean(signatures[:, 0] == signatures[:, 1], axis=1)
    expected = jaccard + (1 - jaccard) / 256
    spread = np.sqrt(expected * (1 - expected) / num_hashes)
    assert agreement.mean() == pytest.approx(expected, abs=4 * spread / np.sqrt(NUM_PAIRS))
    assert agreement.std() == pytest.approx(spread, rel=0.2)


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


def test_short_texts_are_near_duplicates_when_their_words_are_the_same():
    documents = [
        ["one two"],
        ["One, two!"],
        ["one three"],
        ["one two three four"],
        ["one"],
        ["two one"],
        ["ONE"],
    ]
    assert find(documents, "near") == [False, True, False, False, False, False, True]


def test_texts_without_words_are_told_apart():
    assert find([["* * *"], ["---"], ["* * *"], ["\u2026"]], "near") == [False, False, True, False]


def test_characters_are_the_words_of_scripts_without_spaces():
    rng = np.random.default_rng(5)
    first = "".join(map(chr, rng.integers(0x4E00, 0x9FA5, 400)))
    other = "".join(map(chr, rng.integers(0x4E00, 0x9FA5, 400)))
    beyond = "".join(map(chr, rng.integers(0x20000, 0x2A6DF, 400)))
    changed = first[:200] + "\u4e00\u3002" + first[201:]
    assert find([[first], [other], [changed], [beyond], [beyond[:-3]]], "near") == [
        *(False, False, True, False, True)
    ]


def test_marks_belong_to_words():
    nukta, without = "\u0915\u093c", "\u0915"  # a Devanagari letter with and without its mark
    assert find([[nukta], [without]], "near") == [False, False]


def test_an_edited_chapter_of_a_real_novel_is_found_and_no_other_chapter():
    if not NOVELS.is_dir():
        pytest.skip(f"NOT CHECKED ON REAL TEXT: {NOVELS} is missing")
    units = plan_units(sorted(NOVELS.glob("*.txt"))[:8], 1 << 20)
    documents = [
        [line.decode() for line in document]
        for unit in units
        for document in read_documents(unit, TextFormat(), Problems())
    ]
    edited = " ".join(documents[7]).split()
    edited[::80] = ["otherwise"] * len(edited[::80])
    jaccard = len(shingles(edited) & shingles(" ".join(documents[7]).split())) / len(
        shingles(edited) | shingles(" ".join(documents[7]).split())
    )
    assert 0.85 < jaccard < 0.92
    expected = [False] * len(documents) + [True]
    assert find([*documents, [" ".join(edited)]], "near") == expected
    assert find([*documents, documents[7]], "exact") == expected


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


@pytest.mark.parametrize("mode", ["exact", "near"])
def test_no_documents_have_no_duplicates(mode):
    empty = np.zeros((0, Fingerprinter(mode).num_numbers), np.uint64)
    assert duplicates(empty, mode).shape == (0,)


def test_other_modes_are_refused():
    with pytest.raises(ValueError, match="deduplicate='none' has no fingerprints; choose 'exact' or 'near'"):
        Fingerprinter("none")
    with pytest.raises(ValueError, match="deduplicate='fuzzy' has no fingerprints"):
        duplicates(np.zeros((1, 2), np.uint64), "fuzzy")
