"""The right answers of the real files: from the text to positions in windows, and back to the text."""

from pathlib import Path

import pytest

from kbert.tasks.question_answering import QuestionAnswering
from kbert.tasks.question_answering.squad_files import read_questions
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary

SHARED = Path(__file__).resolve().parents[5] / "shared" / "data"


def shared(path):
    if not (SHARED / path).exists():
        pytest.skip(f"{SHARED / path} is not here")
    return SHARED / path


def learnt_answers(questions, vocabulary):
    """id -> (begin, end) of the answer by the positions of the first window that has all of it."""
    task = QuestionAnswering(unanswerable=True)
    features, owners = task.examples_to_features(questions, TextInputs(vocabulary, 384))
    found = {}
    for row, owner in enumerate(owners):
        start, end = features["start_positions"][row], features["end_positions"][row]
        if start:
            offsets = features["piece_offsets"][row]
            found.setdefault(questions[owner].id, (offsets[start, 0], offsets[end, 1]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "vocabulary", "do_lower_case", "answered", "inside_a_piece"),
    [
        ("squad_v2/train-v2.0.json", "bert_uncased", True, 4371, 29),
        ("xquad/xquad.hi.json", "bert_multi_cased", False, 632, 2),
    ],
)
def test_every_right_answer_comes_back(file, vocabulary, do_lower_case, answered, inside_a_piece):
    """Character for character, but for those that begin or end inside of a piece, which get all of it."""
    questions = list(read_questions(shared(file)))
    vocabulary = Vocabulary.from_file(shared(f"vocab/{vocabulary}/vocab.txt"), do_lower_case)
    found = learnt_answers(questions, vocabulary)
    answers = {question.id: question.answers[0] for question in questions if question.answers}
    assert found.keys() == answers.keys() and len(answers) == answered
    contexts = {question.id: question.context for question in questions}
    longer = {}
    for name, (begin, end) in found.items():
        answer = answers[name]
        if contexts[name][begin:end] != answer.text:
            longer[name] = contexts[name][begin:end]
            stop = answer.start + len(answer.text)
            assert begin <= answer.start and end >= stop, "nothing of an answer is lost"
            # What is more are characters of the word that the annotator cut through.
            more = contexts[name][begin : answer.start] + contexts[name][stop:end]
            assert more.split() == [more], (name, answer.text, longer[name])
    assert len(longer) == inside_a_piece
