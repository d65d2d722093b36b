"""Spans against brute force and the original's loops, and the graph against NumPy."""

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tasks.question_answering import graph_answers
from kbert.tasks.question_answering.best_spans import (
    NO_SPAN,
    null_score,
    ranked_spans,
)
from kbert.tasks.question_answering.graph_answers import best_spans, slice_contexts
from kbert.tasks.question_answering.windows import ContextWindows
from tests.kbert.tasks.question_answering.random_rows import random_rows

FEW_VALUES = (0.0, 1.0, 2.5)


def every_span(rows, max_answer_length):
    """(window, start, end) of all spans, by trying all."""
    windows, length = rows.start_logits.shape
    return [
        (window, start, end)
        for window in range(windows)
        for start in range(length)
        for end in range(length)
        if start <= end < start + max_answer_length
        and rows.max_context[window, start]
        and rows.offsets[window, start, 1] > rows.offsets[window, start, 0]
        and rows.offsets[window, end, 1] > rows.offsets[window, end, 0]
    ]


def by_score(rows, spans):
    """Sorted by falling score; sorting keeps equals in their order."""
    return sorted(
        spans,
        key=lambda span: -(rows.start_logits[span[0], span[1]] + rows.end_logits[span[0], span[2]]),
    )


cases = given(
    seed=st.integers(0, 10**6),
    num_windows=st.integers(1, 4),
    max_answer_length=st.sampled_from([1, 2, 7, 24, 40]),
    values=st.sampled_from([None, FEW_VALUES]),
)


@cases
@settings(max_examples=60)
def test_spans_come_in_the_order_that_brute_force_finds(seed, num_windows, max_answer_length, values):
    rows = random_rows(seed, num_windows, values=values)
    found = list(ranked_spans(rows, max_answer_length))
    assert [span[:3] for span in found] == by_score(rows, every_span(rows, max_answer_length))
    for span in found[:5]:
        assert span.start_logit == rows.start_logits[span.window, span.start]
        assert span.end_logit == rows.end_logits[span.window, span.end]


def as_windows(all_rows):
    """The rows of several questions as one batch."""
    owners = np.repeat(np.arange(len(all_rows)), [len(rows.start_logits) for rows in all_rows])
    starts, ends, offsets, max_context = (np.concatenate(column) for column in zip(*all_rows, strict=True))
    windows = ContextWindows(
        {},
        tf.constant(owners, tf.int32),
        tf.constant(offsets),
        tf.constant(max_context > 0),
        tf.zeros([len(all_rows)], tf.bool),
    )
    return {"start_logits": tf.constant(starts), "end_logits": tf.constant(ends)}, windows


@given(
    seeds=st.lists(st.integers(0, 10**6), min_size=1, max_size=4),
    max_answer_length=st.sampled_from([1, 3, 24, 30]),
    values=st.sampled_from([None, FEW_VALUES]),
)
@settings(max_examples=40)
def test_the_graph_finds_the_first_span(seeds, max_answer_length, values):
    all_rows = [random_rows(seed, 1 + seed % 4, values=values) for seed in seeds]
    best = best_spans(*as_windows(all_rows), len(seeds), max_answer_length)
    for number, rows in enumerate(all_rows):
        null, _ = null_score(rows)
        span = next(ranked_spans(rows, max_answer_length), None)
        expected = (0, 0, NO_SPAN)
        if span is not None:
            begin, end = rows.offsets[span.window, span.start, 0], rows.offsets[span.window, span.end, 1]
            expected = (begin, end, np.float32(span.start_logit) + np.float32(span.end_logit))
        assert (best.starts[number], best.ends[number], best.scores[number]) == expected
        assert best.null_odds[number] == null - np.float32(expected[2])


def test_no_answer_is_longer_than_a_window(monkeypatch):
    """A large setting takes no more memory than the length of a row."""
    questions, sizes, band = as_windows([random_rows(5, 3), random_rows(6, 2)]), [], graph_answers._band

    def measured(*arguments):
        sizes.append(tf.size(found := band(*arguments)).numpy())
        return found

    monkeypatch.setattr(graph_answers, "_band", measured)
    enough, large = (best_spans(*questions, 2, longest) for longest in (24, 10**5))
    assert sizes == [5 * 24 * 24] * 2
    for one, other in zip(enough, large, strict=True):
        np.testing.assert_array_equal(one, other)


def test_texts_are_cut_by_characters_of_whole_utf8():
    contexts = tf.constant(["naïve 🙂 Straße".encode(), b"a\xffbc", b""])
    starts, ends = tf.constant([2, 1, 0]), tf.constant([7, 3, 0])
    assert slice_contexts(contexts, starts, ends).numpy().tolist() == ["ïve 🙂".encode(), b"bc", b""]
