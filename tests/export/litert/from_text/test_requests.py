"""What --mediapipe and --tokenizer_inside refuse, each in one sentence that says why."""

import pytest

from export.export_tflite import export_tflite
from export.litert.requests import check_mediapipe, check_tokenizer_inside
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from tests.export.litert.test_comparison_data import with_task
from tests.tfrecords_tools import small_corpus

CLASSIFICATION = TASKS["sequence_classification"]


@pytest.mark.parametrize(
    ("task", "lengths", "sentence"),
    [
        (CLASSIFICATION(("a", "b"), takes_pairs=True), (16,), "does not answer a single text with labels"),
        (TASKS["sequence_regression"](), (16,), "sequence_regression run that does not answer a single text"),
        (TASKS["token_classification"](("O", "B-X")), (16,), "no pairs, numbers, words, spans or choices"),
        (TASKS["question_answering"](), (16,), "does not answer a single text"),
        (TASKS["multiple_choice"](3), (16,), "does not answer a single text"),
        (CLASSIFICATION(("a", "b")), (8, 16), r"one graph, received max_seq_length=\[8, 16\]; give one"),
        (CLASSIFICATION(("a", "b"), long_texts="windows", doc_stride=4), (16,), "MediaPipe cuts them"),
    ],
)
def test_refusals(finetuned_run, task, lengths, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_mediapipe(with_task(finetuned_run, task), lengths)


def test_a_cased_vocabulary_is_refused_before_anything_is_made(finetuned_run, tmp_path):
    run = RunDirectory(finetuned_run.path)
    run.vocabulary = lambda: small_corpus.vocabulary(do_lower_case=False)
    with pytest.raises(ValueError, match="cased vocabulary .* MediaPipe makes every text lower-case"):
        export_tflite(run, tmp_path / "model", ["float32"], mediapipe=True)
    assert not list(tmp_path.iterdir())


def test_what_is_taken(finetuned_run):
    for name in ("sequence_classification", "multi_label_classification", "cosine_similarity"):
        check_mediapipe(with_task(finetuned_run, TASKS[name].of_labels(("a", "b"))), (16,))


@pytest.mark.parametrize(
    ("task", "lengths", "sentence"),
    [
        (TASKS["token_classification"](("O", "B-X")), (16,), "need more than one row of its texts"),
        (TASKS["question_answering"](), (16,), "need more than one row"),
        (TASKS["multiple_choice"](3), (16,), "need more than one row"),
        (CLASSIFICATION(("a", "b"), long_texts="windows", doc_stride=4), (16,), "windows of long texts"),
        (CLASSIFICATION(("a", "b")), (8, 16), r"received max_seq_length=\[8, 16\]; give one"),
    ],
)
def test_what_cannot_have_its_tokenizer_inside(finetuned_run, task, lengths, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_tokenizer_inside(with_task(finetuned_run, task), lengths)


def test_pairs_and_numbers_can_have_their_tokenizer_inside(finetuned_run):
    for task in (CLASSIFICATION(("a", "b"), takes_pairs=True), TASKS["sequence_regression"]()):
        check_tokenizer_inside(with_task(finetuned_run, task), (16,))
