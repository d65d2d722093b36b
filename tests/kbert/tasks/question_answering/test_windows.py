"""Windows of questions: what stands where, and that the right answer comes back character for character."""

import functools
import re
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tasks.question_answering.best_spans import Rows, ranked_spans
from kbert.tasks.question_answering.question_answering import QuestionAnswering
from kbert.tasks.question_answering.squad_files import Answer, Question
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary
from tests.conftest import tiny_encoder_config
from tests.kbert.tokenization import reference_offsets
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary
from tests.kbert.tokenization.test_window_packer import reference_is_max_context, reference_spans

LETTERS = "abcdeno"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*LETTERS, *(f"##{letter}" for letter in LETTERS), "no", "##one", ".", ","]
VOCABULARY = Vocabulary([*SPECIAL, *PIECES], do_lower_case=True)
words = st.sampled_from(["no", "none", "Adoné", "no.", "cañon,", "xylo", "a", "x", "🙂", "\u200b", "  "])
contexts = st.lists(words, min_size=1, max_size=25).map(" ".join)
lengths = {"max_seq_length": st.integers(12, 24), "doc_stride": st.integers(1, 20)}


text_inputs = functools.cache(functools.partial(TextInputs, VOCABULARY))  # made once for each length


def features_of(questions, max_seq_length, **changes):
    task = QuestionAnswering(unanswerable=True, max_query_length=5, **changes)
    return task.examples_to_features(questions, text_inputs(max_seq_length))


def about(context, answer=None, name="q", question="no a?"):
    """A question whose answer is from one character up to another."""
    answers = () if answer is None else (Answer(context[slice(*answer)], answer[0]),)
    return Question(name, question, context, answers)


@pytest.mark.slow
@given(contexts=st.lists(contexts, min_size=1, max_size=3), **lengths)
@settings(max_examples=10)
def test_rows_are_those_of_the_original_with_the_places_of_the_pieces(contexts, max_seq_length, doc_stride):
    features, owners = features_of(
        [about(context, name=str(place)) for place, context in enumerate(contexts)],
        max_seq_length,
        doc_stride=doc_stride,
    )
    query = [VOCABULARY.ids[token] for token in ("no", "a", "[UNK]")]  # the question mark is not known
    head = [VOCABULARY.cls_id, *query, VOCABULARY.sep_id]
    row = 0
    for owner, context in enumerate(contexts):
        pieces = reference_offsets.pieces(context, VOCABULARY.ids, True)
        spans = reference_spans(len(pieces), max_seq_length - len(head) - 1, doc_stride)
        for number, (start, length) in enumerate(spans):
            inside = pieces[start : start + length]
            ids = [*head, *(VOCABULARY.ids[piece] for piece, *_ in inside), VOCABULARY.sep_id]
            padding = max_seq_length - len(ids)
            assert owners[row] == owner
            assert features["input_ids"][row].tolist() == ids + [VOCABULARY.pad_id] * padding
            assert features["input_mask"][row].tolist() == [1] * len(ids) + [0] * padding
            segments = [0] * len(head) + [1] * (length + 1) + [0] * padding
            assert features["segment_ids"][row].tolist() == segments
            offsets = [[-1, -1]] * len(head) + [[b, e] for _, b, e, _ in inside] + [[-1, -1]] * (padding + 1)
            assert features["piece_offsets"][row].tolist() == offsets
            best = [int(reference_is_max_context(spans, number, start + place)) for place in range(length)]
            assert features["max_context"][row].tolist() == [0] * len(head) + best + [0] * (padding + 1)
            row += 1
    assert row == len(owners)
    assert all(values.dtype == np.int32 and len(values) == row for values in features.values())


@pytest.mark.slow
@given(context=contexts, data=st.data(), **lengths)
@settings(max_examples=10)
def test_an_answer_of_whole_pieces_comes_back_character_for_character(
    context, data, max_seq_length, doc_stride
):
    pieces = reference_offsets.pieces(context, VOCABULARY.ids, True)
    if not pieces:
        return
    first = data.draw(st.integers(0, len(pieces) - 1))
    last = data.draw(st.integers(first, min(first + 6, len(pieces) - 1)))
    answer = pieces[first][1], pieces[last][2]
    features, _ = features_of([about(context, answer)], max_seq_length, doc_stride=doc_stride)
    room = max_seq_length - 6
    spans = reference_spans(len(pieces), room, doc_stride)
    starts, ends = features["start_positions"], features["end_positions"]
    for row, (start, length) in enumerate(spans):
        if start <= first and last < start + length:
            offsets = features["piece_offsets"][row]
            assert (starts[row], ends[row]) == (5 + first - start, 5 + last - start)
            assert context[offsets[starts[row], 0] : offsets[ends[row], 1]] == context[slice(*answer)]
        else:
            assert (starts[row], ends[row]) == (0, 0)


@pytest.mark.parametrize(
    ("answer", "learnt"),
    [((1, 3), "non"), ((0, 1), "no"), ((5, 6), "x"), ((4, 5), None), ((3, 7), "e x"), ((6, 7), None)],
)
def test_an_answer_inside_of_a_piece_becomes_longer_and_one_of_spaces_none(answer, learnt):
    context = "none x \u200b"
    features, _ = features_of([about(context, answer)], 24)
    start, end = features["start_positions"][0], features["end_positions"][0]
    if learnt is None:
        assert (start, end) == (0, 0)
    else:
        offsets = features["piece_offsets"][0]
        assert context[offsets[start, 0] : offsets[end, 1]] == learnt


def test_blanks_before_a_question_are_none_of_its_tokens():
    task, inputs = (
        QuestionAnswering(unanswerable=True, max_query_length=3),
        TextInputs(bpe_vocabulary([("n", "o")]), 24),
    )
    rows = [task.examples_to_features([about("a no", question=f"{blanks}no a?")], inputs)[0]
            for blanks in ("", " \n\u3000 ")]  # fmt: skip
    np.testing.assert_array_equal(*(features["input_ids"] for features in rows))


@pytest.mark.parametrize(("doc_stride", "are_apart"), [(4, False), (8, False), (10, True)])
def test_right_answers_that_no_model_could_give_are_counted(doc_stride, are_apart, caplog):
    """As many as are no span of the windows."""
    context, longest = " ".join(LETTERS * 4), 5
    ends = range(1, len(context) + 1, 2)
    answers = [(end - length, end) for end in ends for length in range(1, 16, 2) if length <= end]
    questions = [about(context, answer, str(answer)) for answer in answers]
    others = [about(context), about("a", question="no a no a no a?")]
    with caplog.at_level("INFO", logger="absl"):
        features, owners = features_of(
            [*questions, *others], 16, doc_stride=doc_stride, max_answer_length=longest
        )
    offsets, max_context = features["piece_offsets"][owners == 0], features["max_context"][owners == 0]
    logits = np.zeros(max_context.shape, np.float32)
    spans = list(ranked_spans(Rows(logits, logits, offsets, max_context), longest))
    given = {(offsets[span.window, span.start, 0], offsets[span.window, span.end, 1]) for span in spans}
    lost = [answer for answer in answers if answer not in given]
    number = len(questions)

    def said(what):
        found = re.findall(rf"(\d+) of {number + 2} questions \(.*?%\) {what}", caplog.text)
        return sum(map(int, found))

    in_no_window = said("have a first right answer that can never be given: no window in which it may begin")
    too_long = said(f"have a first right answer of more than max_answer_length={longest} tokens")
    assert in_no_window + too_long == len(lost) and in_no_window and too_long
    assert said("come in windows that do not overlap") == (number + 1 if are_apart else 0)
    assert said("are longer than max_query_length=5 tokens, and are cut at the end.") == 1


@pytest.mark.parametrize(
    ("length", "given", "step"), [(128, None, 128), (384, None, 128), (600, None, 200), (600, 128, 128)]
)
def test_windows_longer_than_those_of_the_original_take_longer_steps(length, given, step):
    """ModernBERT's 8,192 tokens in steps of 128 were each read 64 times, and did not fit into memory."""
    features, _ = features_of([about("no " * 1300)], length, doc_stride=given)
    assert len(features["input_ids"]) == len(reference_spans(1300, length - 6, step))


def test_windows_that_do_not_overlap_are_told_where_questions_are_answered(caplog):
    model = SimpleNamespace(encoder=SimpleNamespace(config=tiny_encoder_config()))
    for doc_stride, is_told in ((15, False), (16, True)):
        task = QuestionAnswering(max_query_length=5, doc_stride=doc_stride)
        task.serving.signatures(model, text_inputs(24))
        assert ("no more than doc_stride=16: windows do not overlap" in caplog.text) == is_told


def test_many_questions_are_cut_into_parts_that_change_nothing(monkeypatch):
    from kbert.tasks.question_answering import windows

    texts = [f"{'no ' * (3 * number)}none" for number in range(9)]
    questions = [
        about(text, (len(text) - 4, len(text)), str(n)) for n, text in enumerate(texts + texts[::-1])
    ]
    whole = features_of(questions, 16, doc_stride=4)
    monkeypatch.setattr(windows, "_QUESTIONS_AT_ONCE", 4)
    parts = features_of(questions, 16, doc_stride=4)
    tf.nest.map_structure(np.testing.assert_array_equal, whole, parts)
