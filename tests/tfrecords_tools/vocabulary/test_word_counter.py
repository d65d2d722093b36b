"""Counting the words of a corpus: what is counted, and that neither cutting nor memory change it."""

import random
from collections import Counter

import pytest

from tests.kbert.tokenization import reference_tokenizer
from tfrecords_tools.vocabulary import word_counter
from tfrecords_tools.vocabulary.word_counter import count_words

TEXT = """The cat sat, and the Café was full.

Zwei Straßen\u3000weiter: 的学 again; the cat sat.
"""


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def random_lines(number, num_words, seed=7):
    """Lines of words of which few are frequent and most are rare."""
    source = random.Random(seed)
    words = ["".join(source.choices("aäbcdeß,.的ο", k=source.randint(1, 7))) for _ in range(num_words)]
    weights = [1 / rank for rank in range(1, num_words + 1)]
    return [" ".join(source.choices(words, weights, k=source.randint(1, 12))) for _ in range(number)]


def expected_counts(text, do_lower_case=True):
    return Counter(reference_tokenizer.split_words(text, do_lower_case))


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_the_words_counted_are_those_wordpiece_sees(corpus, do_lower_case):
    assert count_words([corpus], do_lower_case).counts == expected_counts(TEXT, do_lower_case)


@pytest.mark.slow
@pytest.mark.parametrize("unit_bytes", [500])
def test_cutting_into_units_makes_no_difference(tmp_path, monkeypatch, unit_bytes):
    # No blank line: one document, which has to be shared out all the same.
    lines = random_lines(300, 200)
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(word_counter, "UNIT_BYTES", unit_bytes)
    assert count_words([path], True).counts == expected_counts("\n".join(lines))


def test_words_of_more_than_200_characters_are_left_out(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text(f"{'ж' * 200} {'ж' * 201} {'a' * 5000} b {'ж' * 201}\n", encoding="utf-8")
    counted = count_words([path], True)
    assert counted.counts == {"ж" * 200: 1, "b": 1}
    assert counted.num_dropped_long == 3 and counted.long_characters == 201 + 5000 + 201


# ------------------------------------------------------------------------------ bounded memory


def test_with_too_many_words_frequent_ones_stay_exact(tmp_path, monkeypatch):
    monkeypatch.setattr(word_counter, "UNIT_BYTES", 200)
    path = tmp_path / "many.txt"
    path.write_text("".join(f"the cat word{i}\n" for i in range(300)), encoding="utf-8")
    counted = count_words([path], True, max_words_in_memory=50)
    assert counted.counts.pop("the") == counted.counts.pop("cat") == 300
    assert counted.highest_dropped_count == 1 and len(counted.counts) <= 48
    assert all(word.startswith("word") for word in counted.counts)


@pytest.mark.long
def test_without_a_limit_every_word_is_counted(tmp_path):
    """A trimmed model keeps the tokens of all of them, the rarest too."""
    path = tmp_path / "many.txt"
    path.write_text("\n".join(f"{number:x}" for number in range(2_000_001)), encoding="utf-8")
    counted = count_words([path], True)
    assert len(counted.counts) == 2_000_001 and not counted.highest_dropped_count


@pytest.mark.parametrize(("do_lower_case", "number", "marked"), [(True, 3, "für"), (False, 0, "")])
def test_words_that_lose_marks_are_counted(tmp_path, do_lower_case, number, marked):
    path = tmp_path / "corpus.txt"
    path.write_text("das ist für uns\nfür \u0939\u093f\u0902\u0926\u0940 Straße\n", encoding="utf-8")
    counted = count_words([path], do_lower_case)
    assert (counted.num_marked, counted.marked) == (number, marked)
