"""The files of public bug reports, by kind: what each is read as, or the one sentence that refuses it.

The files lie beside the repository; tests of small files of the same kinds stand with what they test.
"""

import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint
from kbert.config import DatasetConfig
from kbert.tasks.file_columns import check_file, task_files
from kbert.tasks.similarity.retrieval_scores import retrieval_scores
from kbert.tasks.similarity.text_groups import text_numbers
from kbert.tokenization.text_inputs import TextInputs
from tests.kbert.tokenization import reference_tokenizer
from tests.kbert.tokenization.test_golden_ids import SHARED_DATA

REPORTS = SHARED_DATA / "reports"
pytestmark = pytest.mark.skipif(not REPORTS.is_dir(), reason=f"{REPORTS} is not there")
ONE_LABEL, SEVERAL, WORDS = "sequence_classification", "multi_label_classification", "token_classification"
EXCEL = {"encoding": "cp1252", "label": "Category", "skip_empty_rows": True}


def examples(task, name, **settings):
    dataset = DatasetConfig(**settings)
    return list(task_files(task).read_examples(REPORTS / name, dataset))


@pytest.mark.parametrize(("language", "text"), [("ko", "korean"), ("ja", "japanese"), ("hi", "hindi")])
def test_scripts_without_capitals_are_cased_where_their_marks_show_it(language, text):
    folder, text = REPORTS / f"{language}_folder", (REPORTS / f"{text}.txt").read_text("utf-8").strip()
    vocabulary = read_checkpoint(folder).vocabulary
    assert not vocabulary.do_lower_case
    ids = TextInputs(vocabulary, 64)([text], pad_to_longest=True)["input_ids"][0].numpy()
    tokens = [vocabulary.tokens[index] for index in ids][1:-1]
    assert tokens == reference_tokenizer.tokenize(text, vocabulary.ids, False)
    assert tokens != reference_tokenizer.tokenize(text, vocabulary.ids, True)
    assert read_checkpoint(folder, do_lower_case=False).vocabulary.tokens == vocabulary.tokens
    with pytest.raises(ValueError, match="do_lower_case"):
        read_checkpoint(folder, do_lower_case=True)


def test_files_of_excel():
    assert [row.label for row in examples(ONE_LABEL, "excel_utf16.csv")] == ["pos", "neg"]
    read = examples(ONE_LABEL, "excel_semicolon_cp1252.csv", **EXCEL)
    assert [row.text for row in read] == ["Die Lieferung war schön “schnell”", "nie wieder", "es ging"]
    with pytest.raises(ValueError) as refusal:
        check_file(ONE_LABEL, REPORTS / "excel_semicolon_cp1252.csv", DatasetConfig(label="category"))
    for part in ("dataset.encoding=cp1252", "'Category'", "skip_empty_rows=true"):
        assert part in str(refusal.value)


# File -> (task, settings, what its one message names).
REFUSED = {
    "label_with_zero_width.csv": (ONE_LABEL, {}, ["U+200B", "'pos'"]),
    "labels_1_and_1.0.csv": (ONE_LABEL, {}, ["'1'", "'1.0'"]),
    "no_gold_label.jsonl": (
        ONE_LABEL,
        {"text": "sentence1", "text_pair": "sentence2", "label": "gold_label"},
        ["'-'", "skip_unlabelled"],
    ),
    "header_as_row.tsv": (ONE_LABEL, {"column_names": ("text", "label")}, ["line 1", "header"]),
    "quoted_newline.tsv": (ONE_LABEL, {}, ["quot"]),
    "span_in_utf16.jsonl": (WORDS, {}, ["'saw'", "'Ann'", "3 to 6"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_one_can_mean_is_refused(name):
    task, settings, named = REFUSED[name]
    with pytest.raises(ValueError) as refusal:
        examples(task, name, **settings)
    assert all(part in str(refusal.value) for part in named), refusal.value


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
    scores = retrieval_scores(vectors, texts)
    assert scores["mrr"] == scores["accuracy_at_1"] == 1.0
