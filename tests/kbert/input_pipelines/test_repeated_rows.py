"""Rows that are there twice, and texts with several labels."""

import collections
import random
import tracemalloc
import unicodedata
import unittest.mock

import pytest

from kbert.input_pipelines import repeated_rows
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.input_pipelines.repeated_rows import as_read, repetitions, shared_rows
from kbert.tasks.files import ONE_LABEL_FILES, SEVERAL_LABELS_FILES
from kbert.tasks.similarity.text_groups import ScoredPairFiles, TextGroup


@pytest.mark.parametrize("labels", [("x", "y"), (("x",), ("x", "y")), (0, 1)])
def test_rows_and_contradictions_are_counted(labels):
    rng = random.Random(3)
    rows = [LabelledText(f"text {rng.randrange(40)}", None, rng.choice(labels)) for _ in range(100)]
    repeated, contradicting = repetitions(rows)
    assert repeated == f"{100 - len(set(rows))} of 100 rows repeat an earlier one"
    by_text = collections.defaultdict(set)
    for row in rows:
        by_text[row.text].add(row.label)
    number = sum(len(found) > 1 for found in by_text.values())
    assert contradicting.startswith(f"{number} text(s) have several labels or answers, as 'text ")
    known = [repr(list(label) if isinstance(label, tuple) else label) for label in labels]
    assert f"has {' and '.join(sorted(known))}; if these" in contradicting


def test_nothing_is_said_of_different_rows_and_numbers():
    pairs = [LabelledText("a", "b", "x"), LabelledText("b", "a", "y"), LabelledText("a", None, "y")]
    assert repetitions(pairs) == (None, None)
    for numbers in ((1.0, 2.0), ((1.0, 2.0), (1.5, 2.5))):  # of people, of teachers
        assert repetitions([LabelledText("a", "b", number) for number in numbers]) == (None, None)


def test_several_labels_are_the_same_in_any_order():
    rows = [LabelledText("a", None, ("x", "y")), LabelledText("a", None, ("y", "x"))]
    repeated, contradicting = repetitions([*map(SEVERAL_LABELS_FILES.content, rows)])
    assert repeated == "1 of 2 rows repeat an earlier one" and contradicting is None


def test_examples_for_evaluation_that_are_trained_on():
    rows = [LabelledText(f"text {number}", None, "x") for number in range(20)]
    assert shared_rows(rows[:11], rows[10:]) is None
    assert shared_rows(rows[:12], rows[10:]).startswith("2 of 10 examples for evaluation are also training")
    copies = [LabelledText(f" {row.text.upper()}", None, row.label) for row in rows]
    assert shared_rows(rows, copies).startswith("20 of 20 examples")
    assert shared_rows(rows, [copy._replace(label="y") for copy in copies]) is None


@pytest.mark.parametrize("files", [ONE_LABEL_FILES, ScoredPairFiles()], ids=["two fields", "a tuple"])
def test_two_texts_in_the_other_order_are_trained_on(files):
    def example(*texts):
        return TextGroup(texts, 1.0) if isinstance(files, ScoredPairFiles) else LabelledText(*texts, "x")

    rows = [example(f"a {number}", f"b {number}") for number in range(20)]
    other = [example(f"B {number}", f"a {number}") for number in range(20)]
    assert shared_rows(*([*map(files.content, some)] for some in (rows, other))).startswith("20 of 20")
    assert shared_rows(rows, [example("a 0", f"b {number}") for number in range(1, 20)]) is None


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_what_looks_the_same_reads_the_same_in_every_form_of_unicode(form):
    for text in ("Café über Ｗ１", "Việt Nam", "カﾞ"):
        assert as_read(unicodedata.normalize(form, text)) == as_read(text)
    assert as_read("co\u00adoperate\u200b, \ufeffmen\u2060", str) == "cooperate, men"
    assert as_read("10⁶") != as_read("106") and as_read("cafe") != as_read("café")
    assert as_read("İSTANBUL i\u0307l") == as_read("istanbul İl") == "istanbul il"
    assert as_read(text := "plain words") is text


def test_blanks_tell_no_texts_apart_and_capitals_may_be_what_a_label_is_about():
    rows = [LabelledText(*row) for row in (("a\r\nb", "c", "x"), ("a b ", "c", "y"), ("a b", "c", "x"))]
    repeated, contradicting = repetitions(rows)
    assert repeated == "1 of 3 rows repeat an earlier one" and "as 'a b' has 'x' and 'y'" in contradicting
    assert repetitions([LabelledText("us", None, "O"), LabelledText("US", None, "B-LOC")]) == (None, None)


def test_of_a_text_that_questions_share_no_copies_are_kept(monkeypatch):
    """They were: gigabytes of contracts, since each question is on one of them."""
    read = unittest.mock.Mock(wraps=as_read)
    monkeypatch.setattr(repeated_rows, "as_read", read)
    context = "A  Contract\n" * 5000
    rows = [(f"question {number}", context, ("x",)) for number in range(100)]
    hash(context)
    tracemalloc.start()
    assert repetitions(rows) == (None, None) and shared_rows(rows[:50], rows[50:]) is None
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 * len(context) and read.call_count == 2 * len(rows) + 2
