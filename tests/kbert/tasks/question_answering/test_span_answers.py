"""From logits to answers and files."""

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kbert.tasks.question_answering.best_spans import NO_SPAN
from kbert.tasks.question_answering.question_answering import QuestionAnswering
from kbert.tasks.question_answering.span_answers import (
    Rival,
    SpanAnswer,
    postprocess_predictions,
    score_answer,
)
from kbert.tasks.question_answering.squad_files import Question
from kbert.tasks.task import Predictions
from kbert.tokenization.text_inputs import TextInputs
from tests.kbert.tasks.question_answering.test_windows import VOCABULARY, contexts

LENGTH = 16


def said_of(task, questions, seed, width=4.0, trimmed=None):
    """`Predictions` with random logits for the windows of questions, as an evaluation collects them."""
    features, owners = task.examples_to_features(questions, TextInputs(VOCABULARY, LENGTH))
    rng = np.random.default_rng(seed)
    values = {
        name: (rng.normal(size=features["input_ids"].shape) * width).astype(np.float32)[:, :trimmed]
        for name in ("start_logits", "end_logits")
    }
    collected = {name: features[name] for name in task.collected if name in features}
    return Predictions(values | collected, owners)


@pytest.mark.slow
@given(
    texts=st.lists(contexts, min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
    unanswerable=st.booleans(),
    number=st.sampled_from([1, 6]),
)
@example(texts=["a x a x a"], seed=1, unanswerable=False, number=6)  # texts that stand there several times
@settings(max_examples=8)
def test_every_text_is_the_best_span_that_spells_it(tmp_path_factory, texts, seed, unanswerable, number):
    task = QuestionAnswering(unanswerable=unanswerable, doc_stride=5, max_query_length=4, n_best_size=number)
    questions = [Question(str(place), "no, a?", text, None) for place, text in enumerate(texts)]
    said = said_of(task, questions, seed)
    folder = tmp_path_factory.mktemp("files")
    (folder / "null_odds.json").write_text("of another model")
    task.write_predictions(questions, said, folder)
    written = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.iterdir()}
    assert ("null_odds" in written) == unanswerable
    for place, (question, answer) in enumerate(
        zip(questions, postprocess_predictions(questions, said, task.settings), strict=True)
    ):
        own = said.owners == place
        starts, ends, offsets, max_context = (
            said.values[name][own] for name in ("start_logits", "end_logits", "piece_offsets", "max_context")
        )
        best = {}  # text -> score of the first span that spells it
        for window, start, end, *logits in _all_spans(starts, ends, offsets, max_context):
            text = question.context[offsets[window, start, 0] : offsets[window, end, 1]]
            best.setdefault(text, np.float32(logits[0]) + np.float32(logits[1]))
        null = min(starts[:, 0] + ends[:, 0])
        texts_found = [rival.text for rival in answer.rivals]
        expected = list(best)[:number]
        if unanswerable:
            ahead = sum(score >= null for score in list(best.values())[:number])
            expected = (list(best)[:ahead] + [""] + list(best)[ahead:])[:number]
            expected += [""] * ("" not in expected)
        assert texts_found == (expected or [""])
        assert answer.text == (next(iter(best), ""))
        assert answer.score == best.get(answer.text, NO_SPAN)
        assert answer.null_odds == np.float32(null) - np.float32(answer.score)
        assert written["predictions"][str(place)] == answer.text
        listed = written["nbest_predictions"][str(place)]
        assert [entry["text"] for entry in listed] == texts_found
        shares = np.exp([entry["start_logit"] + entry["end_logit"] for entry in listed])
        assert [entry["probability"] for entry in listed] == pytest.approx(shares / shares.sum(), abs=1e-9)
        if unanswerable:
            assert written["null_odds"][str(place)] == answer.null_odds


def _all_spans(starts, ends, offsets, max_context):
    """Every span by falling score."""
    spans = [
        (window, start, end, starts[window, start], ends[window, end])
        for window in range(len(starts))
        for start in range(LENGTH)
        for end in range(start, LENGTH)
        if max_context[window, start] and offsets[window, end, 0] >= 0
    ]
    return sorted(spans, key=lambda span: -(span[3] + span[4]))


def test_an_answer_has_a_share_where_no_answer_took_the_only_place():
    task = QuestionAnswering(unanswerable=True, n_best_size=1, null_score_diff_threshold=5.0)
    predicted = SpanAnswer("Paris", 4.0, 2.0, [Rival("", 3.0, 3.0)], 0)
    scored = score_answer(Question("1", "Where?", "Paris", None), predicted, task.settings)
    assert scored[0] == "Paris" and scored[2] == pytest.approx(1 / (1 + np.exp(2.0)))
