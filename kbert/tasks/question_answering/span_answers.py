"""What a model said of all windows -> one answer a question, with its rivals, and the official files."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kbert.features import MAX_CONTEXT, PIECE_OFFSETS
from kbert.files.whole_file import write_json
from kbert.tasks.pages.answers import ScoredAnswer
from kbert.tasks.question_answering.best_spans import NO_SPAN, Rows, null_score, ranked_spans
from kbert.tasks.question_answering.settings import PREDICTION_FILES, QuestionAnsweringSettings
from kbert.tasks.question_answering.squad_files import Question
from kbert.tasks.question_answering.squad_scores import best_scores


class Rival(NamedTuple):
    """One of the best answers; "" for no answer."""

    text: str
    start_logit: float
    end_logit: float


_NONE = Rival("", NO_SPAN / 2, NO_SPAN / 2)  # where there is no span


class SpanAnswer(NamedTuple):
    """The answer to a question.

    Args:
      text: the best answer that is not "", or "" where the context has no span.
      score: the sum of its logits; `NO_SPAN` where there is none.
      null_odds: the score of no answer minus `score`.
      rivals: the best answers, the best first, each text once, with "" among them where a question may have
        no answer.
      start: where `text` begins in the context, in characters; None where there is no text.
    """

    text: str
    score: float
    null_odds: float
    rivals: list[Rival]
    start: int | None = None


def postprocess_predictions(
    questions: Sequence[Question], predictions, settings: QuestionAnsweringSettings
) -> list[SpanAnswer]:
    """The answers to questions.

    Args:
      questions: the questions.
      predictions: the `kbert.tasks.task.Predictions` of their windows.
      settings: the task's settings.
    """
    values, answers = predictions.values, []
    ends = np.searchsorted(predictions.owners, np.arange(len(questions)), side="right")
    for question, (first, end) in zip(questions, itertools.pairwise([0, *ends]), strict=True):
        rows = _rows(values, slice(first, end))
        answers.append(_answer(question, rows, settings))
    return answers


def _rows(values, where):
    """Logits may have been cut to the longest window of their batch; what is behind is padding."""
    start_logits = values["start_logits"][where]
    offsets, max_context = values[PIECE_OFFSETS][where], values[MAX_CONTEXT][where]
    length = min(start_logits.shape[1], max_context.shape[1])
    columns = (start_logits, values["end_logits"][where], offsets, max_context)
    return Rows(*(column[:, :length] for column in columns))


def _answer(question, rows, settings):
    spans = ranked_spans(rows, settings.max_answer_length)
    first = next(spans, None)
    start = None if first is None else int(rows.offsets[first.window, first.start, 0])
    spans = spans if first is None else itertools.chain([first], spans)
    texts = (
        Rival(_characters(question.context, rows, span), span.start_logit, span.end_logit) for span in spans
    )
    null, window = null_score(rows)
    best = next(texts, _NONE)  # not of the rivals: those may be full of no answer
    rivals = _rivals(itertools.chain([best] * (best is not _NONE), texts), _null(rows, window), settings)
    score = np.float32(best.start_logit) + np.float32(best.end_logit)  # as the graph adds them
    return SpanAnswer(best.text, float(score), float(null - score), rivals, start)


def _characters(context, rows, span):
    start, end = rows.offsets[span.window, span.start, 0], rows.offsets[span.window, span.end, 1]
    return context[start:end]


def _null(rows, window):
    return Rival("", float(rows.start_logits[window, 0]), float(rows.end_logits[window, 0]))


def _rivals(candidates, null, settings):
    """The first `n_best_size` different texts, with no answer in its place among them or at the end.

    Args:
      candidates: `Rival`s by falling score.
      null: the one of no answer.
      settings: the task's settings.
    """
    rivals, texts = [], set()
    if settings.unanswerable:
        candidates = _with_null(candidates, null)
    for candidate in candidates:
        if len(rivals) == settings.n_best_size:
            break
        if candidate.text not in texts:
            texts.add(candidate.text)
            rivals.append(candidate)
    if settings.unanswerable and "" not in texts:
        rivals.append(null)
    return rivals or [Rival("", 0.0, 0.0)]


def _with_null(candidates, null):
    """No answer behind all candidates that are at least as good."""
    waiting = True
    for candidate in candidates:
        if waiting and candidate.start_logit + candidate.end_logit < null.start_logit + null.end_logit:
            waiting = False
            yield null
        yield candidate
    if waiting:
        yield null


def write_answers(
    folder, questions: Sequence[Question], answers: Sequence[SpanAnswer], settings: QuestionAnsweringSettings
):
    """Writes the files of run_squad.py into a folder, which is made where it is missing.

    predictions.json (id -> text), nbest_predictions.json (id -> the best answers with their probabilities
    among them), and, where questions may have no answer, null_odds.json (id -> `null_odds`). The texts in
    predictions.json are then the best that are not "", for the official script to weigh against the odds
    (`--na-prob-file=null_odds.json --na-prob-thresh=...`).
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = [question.id for question in questions]
    texts = [answer.text for answer in answers]
    write_json(dict(zip(names, texts, strict=True)), folder / PREDICTION_FILES[0])
    listed = [_with_probabilities(answer.rivals) for answer in answers]
    write_json(dict(zip(names, listed, strict=True)), folder / PREDICTION_FILES[1])
    if settings.unanswerable:
        odds = [answer.null_odds for answer in answers]
        write_json(dict(zip(names, odds, strict=True)), folder / PREDICTION_FILES[2])
    else:
        (folder / PREDICTION_FILES[2]).unlink(missing_ok=True)  # of another model's predictions


def score_answer(
    question: Question, predicted: SpanAnswer, settings: QuestionAnsweringSettings
) -> ScoredAnswer:
    """What the model answers to a question, scored, for a page.

    Args:
      question: the question with its right answers.
      predicted: the answer to it.
      settings: the task's settings; the threshold says whether the answer is given at all.
    """
    declined = settings.unanswerable and predicted.null_odds > settings.null_score_diff_threshold
    text = "" if declined else predicted.text
    right = [answer.text for answer in question.answers or ()]
    exact, f1 = best_scores(text, right, settings.unanswerable)
    rivals = predicted.rivals
    if text not in {rival.text for rival in rivals}:  # no answer may have taken the only place
        rivals = [*rivals, Rival(text, predicted.score, 0.0)]
    shares = {entry["text"]: entry["probability"] for entry in _with_probabilities(rivals)}
    return ScoredAnswer(text, predicted.start if text else None, shares[text], exact, f1)


def _with_probabilities(rivals):
    """Entries of nbest_predictions.json: a softmax over the scores of those that are listed."""
    scores = np.array([rival.start_logit + rival.end_logit for rival in rivals])
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    return [
        {
            "text": rival.text,
            "probability": float(share),
            "start_logit": rival.start_logit,
            "end_logit": rival.end_logit,
        }
        for rival, share in zip(rivals, shares, strict=True)
    ]
