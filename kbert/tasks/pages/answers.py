"""Sections for questions: the right and the given answer, marked in the paragraph."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kbert.tasks.pages.by_length import by_length
from kbert.tasks.pages.calibration import calibration_section
from kbert.tasks.pages.content import Card, Cards, Fact, Mark, MarkedText, Section, excerpt
from kbert.tasks.pages.labels import worst_indices, worst_note

_NO_ANSWER = "(no answer)"


class ScoredAnswer(NamedTuple):
    """What was answered to a question.

    Args:
      text: the answer; "" for none.
      start: where it begins in the context, in characters; None where that is not known.
      confidence: its probability among the best answers, from 0 to 1.
      exact_match, f1: its scores, from 0 to 1.
    """

    text: str
    start: int | None
    confidence: float
    exact_match: float
    f1: float


def answer_sections(
    questions: Sequence, answers: Sequence[ScoredAnswer], most_examples: int
) -> list[Section]:
    """Calibration, F1 by length, and the most confident wrong answers in their paragraphs.

    Args:
      questions: `Question`s.
      answers: one to each.
      most_examples: how many wrong answers to show.
    """
    exact = np.array([answer.exact_match for answer in answers]) > 0
    words = [len(question.context.split()) for question in questions]
    wrong = [1.0 - answer.f1 for answer in answers]
    # An answer without any right word is worse than one with a word too many, however sure both are.
    badness = [answer.confidence + (answer.f1 == 0) for answer in answers]
    indices = worst_indices(badness, exact, most_examples)
    cards = [_card(questions[index], answers[index]) for index in indices]
    note = worst_note(exact, len(cards))
    if any(wrong[index] < 1 for index in indices):
        note += " Those without any right word come before those that have some."
    return [
        calibration_section(
            [answer.confidence for answer in answers],
            exact,
            "the predicted answer among the best ones that were found",
        ),
        by_length(words, [answer.f1 for answer in answers], "word", "F1", subject="the paragraph"),
        Section("The most confident errors", note, Cards(cards)),
    ]


def _card(question, predicted):
    right = ", ".join(dict.fromkeys(answer.text for answer in question.answers)) or _NO_ANSWER
    facts = (
        Fact("right", right, True),
        Fact("predicted", f"{predicted.text or _NO_ANSWER}, {predicted.confidence:.1%}", False),
        Fact("F1", f"{predicted.f1:.1%}"),
    )
    texts = (
        excerpt(MarkedText("question", question.question)),
        excerpt(MarkedText("", question.context, _marks(question, predicted))),
    )
    return Card(texts, facts)


def _marks(question, predicted):
    """The first right answer and the given one. Where they overlap, what both have is marked as right."""
    right = [(answer.start, answer.start + len(answer.text)) for answer in question.answers[:1]]
    marks = [Mark(start, end, "right", "right") for start, end in right]
    if predicted.text and predicted.start is not None:
        start, end = predicted.start, predicted.start + len(predicted.text)
        for piece_start, piece_end in _without(start, end, right):
            marks.append(Mark(piece_start, piece_end, "wrong", "predicted"))
    return tuple(sorted(mark for mark in marks if mark.start < mark.end))


def _without(start, end, taken):
    """The parts of a stretch that no other (at most one) covers."""
    if not taken:
        return [(start, end)]
    ((first, last),) = taken
    return [(start, min(end, first)), (max(start, last), end)]
