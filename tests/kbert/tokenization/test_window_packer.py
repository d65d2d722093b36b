"""Windows and maximal context against the loops of the original."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.window_packer import WindowPacker, context_positions, has_max_context

# Ids that differ from one another and from lengths and positions.
PAD, CLS, SEP = 3, 1, 2
VOCABULARY = Vocabulary(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], do_lower_case=True)


def ragged(rows):
    return tf.RaggedTensor.from_row_lengths(
        tf.constant([piece for row in rows for piece in row], tf.int32), [len(row) for row in rows]
    )


def reference_spans(num_pieces, room, doc_stride):
    """run_squad.py, the loop over `start_offset`, in our words; an empty text has one empty span."""
    spans, start = [], 0
    while start < num_pieces:
        length = min(num_pieces - start, room)
        spans.append((start, length))
        if start + length == num_pieces:
            break
        start += min(length, doc_stride)
    return spans or [(0, 0)]


def reference_is_max_context(spans, current, position):
    """run_squad.py, `_check_is_max_context`, in our words."""
    scores = []
    for start, length in spans:
        end = start + length - 1
        scores.append(
            min(position - start, end - position) + 0.01 * length if start <= position <= end else -1
        )
    return scores.index(max(scores)) == current


def reference_windows(contexts, questions, max_seq_length, doc_stride, max_query_length):
    """One dict a window, written as the original packs it."""
    windows = []
    for owner, context in enumerate(contexts):
        head = [CLS] if questions is None else [CLS, *questions[owner][:max_query_length], SEP]
        spans = reference_spans(len(context), max_seq_length - len(head) - 1, doc_stride)
        for number, (start, length) in enumerate(spans):
            ids = [*head, *context[start : start + length], SEP]
            segments = [0] * len(head) + [int(questions is not None)] * (length + 1)
            padding = max_seq_length - len(ids)
            before, after = [False] * len(head), [False] * (padding + 1)
            inside = range(start, start + length)
            windows.append(
                {
                    "input_ids": ids + [PAD] * padding,
                    "input_mask": [1] * len(ids) + [0] * padding,
                    "segment_ids": segments + [0] * padding,
                    "owner": owner,
                    "first_piece": start,
                    "context_start": len(head),
                    "length": length,
                    "places": [-1] * len(head) + list(inside) + [-1] * (padding + 1),
                    "max_context": before
                    + [reference_is_max_context(spans, number, place) for place in inside]
                    + after,
                }
            )
    return windows


def as_dicts(windows):
    columns = {
        **windows.features,
        "owner": windows.owners,
        "first_piece": windows.first_pieces,
        "context_start": windows.context_starts,
        "length": windows.lengths,
        "places": context_positions(windows),
        "max_context": has_max_context(windows),
    }
    assert all(
        value.dtype == (tf.bool if name == "max_context" else tf.int32) for name, value in columns.items()
    )
    rows = zip(*(value.numpy().tolist() for value in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


pieces = st.integers(10, 99)


@pytest.mark.slow
@given(
    texts=st.lists(
        st.tuples(st.lists(pieces, max_size=60), st.lists(pieces, max_size=9)), min_size=1, max_size=4
    ),
    with_questions=st.booleans(),
    room=st.integers(1, 30),
    doc_stride=st.integers(1, 40),
)
@example(texts=[(list(range(10, 19)), [])], with_questions=False, room=8, doc_stride=4)  # one piece too many
@settings(max_examples=30)
def test_windows_and_maximal_context_are_those_of_the_original_loops(texts, with_questions, room, doc_stride):
    contexts, questions = [list(column) for column in zip(*texts, strict=True)]
    questions, max_query_length = (questions, 5) if with_questions else (None, None)
    length = room + (8 if with_questions else 2)
    packer = WindowPacker(VOCABULARY, length, doc_stride, max_query_length)
    windows = packer(ragged(contexts), None if questions is None else ragged(questions))
    assert as_dicts(windows) == reference_windows(contexts, questions, length, doc_stride, max_query_length)


def test_at_the_papers_lengths_too():
    """Hundreds of pieces, so that hundredths of a length weigh as much as a piece of context."""
    contexts = [list(range(1000, 1000 + n)) for n in (0, 1, 370, 371, 372, 500, 2000)]
    # Behind 11 and 13 pieces a window has room for an even number, so that neighbours may differ by one.
    questions = [list(range(10, 10 + n)) for n in (0, 3, 11, 64, 11, 13, 70)]
    windows = WindowPacker(VOCABULARY, 384, 128, 64)(ragged(contexts), ragged(questions))
    assert as_dicts(windows) == reference_windows(contexts, questions, 384, 128, 64)


def test_a_graph_of_unknown_batch_size_pads_to_the_longest_window():
    packer = WindowPacker(VOCABULARY, 20, 4, 3)

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)] * 2)
    def pack(contexts, questions):
        windows = packer(contexts, questions, pad_to_longest=True)
        return windows, has_max_context(windows)

    for number in (0, 1, 5):
        contexts, questions = [list(range(10, 10 + n)) for n in range(number)], [[7, 8]] * number
        windows, best = pack(ragged(contexts), ragged(questions))
        longest = max((len(context) + 5 for context in contexts), default=2)
        assert windows.features["input_ids"].shape == best.shape == (number, longest)
        full = packer(ragged(contexts), ragged(questions))
        for name, values in windows.features.items():
            np.testing.assert_array_equal(values, full.features[name][:, :longest])
