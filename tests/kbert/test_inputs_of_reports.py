"""The files of public bug reports, by kind: what each is read as, or the one sentence that refuses it.

The files lie beside the repository; tests of small files of the same kinds stand with what they test.
"""

import numpy as np
import pytest

from kbert.config import DatasetConfig
from kbert.tasks.file_columns import check_file, task_files
from kbert.tasks.similarity.retrieval_scores import retrieval_scores
from kbert.tasks.similarity.text_groups import text_numbers
from kbert.tasks.similarity.text_similarities import DenseSimilarities
from tests.places import SHARED_DATA

REPORTS = SHARED_DATA / "reports"
pytestmark = pytest.mark.skipif(not REPORTS.is_dir(), reason=f"{REPORTS} is not there")
ONE_LABEL, SEVERAL, WORDS = "sequence_classification", "multi_label_classification", "token_classification"


def examples(task, name, **settings):
    dataset = DatasetConfig(**settings)
    return list(task_files(task).read_examples(REPORTS / name, dataset))


def test_labels_are_what_a_person_means():
    listed = examples(SEVERAL, "labels_as_python_list.csv", label="labels")
    assert {row.label for row in listed} == {("x", "y"), ("y",), ()}
    signed = check_file(ONE_LABEL, REPORTS / "labels_plus_minus.csv", DatasetConfig()).dataset
    assert signed.labels == ("-1", "+1")  # F1 is that of the last
    pairs = {"text": "sentence1", "text_pair": "sentence2", "label": "gold_label", "skip_unlabelled": True}
    gold = examples(ONE_LABEL, "no_gold_label.jsonl", **pairs)
    assert "-" not in {row.label for row in gold} and gold


def test_questions_and_tagged_words():
    (question,) = examples("question_answering", "answers_as_object.json")
    assert [(answer.text, answer.start) for answer in question.answers] == [("Ulm", 0)]
    read = examples(WORDS, "bmes.txt")
    assert [sentence.labels for sentence in read] == [
        ("B-LOC", "I-LOC", "O", "B-MISC"),
        ("B-ORG", "I-ORG", "I-ORG"),
    ]
    assert [sentence.words for sentence in examples(WORDS, "comments_in_conll.txt")] == [
        ("London", "waits"),
        ("Rome", "sleeps"),
    ]


def test_questions_that_share_an_answer():
    groups = examples("multiple_negatives_ranking", "faq_dev.tsv", text="question", text_pair="answer")
    texts = text_numbers([group.texts for group in groups])
    vectors = np.eye(texts.max() + 1, dtype=np.float32)[texts[:, [1, 1]]]  # a query is where its answer is
    assert len(set(texts[:, 1].tolist())) < len(texts)
    scores = retrieval_scores(DenseSimilarities(vectors), texts)
    assert scores["mrr"] == scores["accuracy_at_1"] == 1.0
