"""What `dev_split` holds out."""

import collections
import hashlib
import random

import pytest
from sklearn.model_selection import StratifiedShuffleSplit

from kbert.input_pipelines.held_out_split import far_fewer, held_out_indices
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.tasks.late_interaction.late_interaction import LateInteraction
from kbert.tasks.question_answering.question_answering import QuestionAnswering
from kbert.tasks.question_answering.squad_files import Question
from kbert.tasks.sequences.multi_label_classification import MultiLabelClassification
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from kbert.tasks.similarity.text_groups import TaughtGroup, TextGroup
from kbert.tasks.sparse_embedding.sparse_embedding import SparseEmbedding
from kbert.tasks.token_classification.tagged_sentences import Document, TaggedSentence
from kbert.tasks.token_classification.token_classification import TokenClassification

LABELS = ["a"] * 61 + ["b"] * 25 + ["c"] * 9 + ["d"] * 5
TEXTS = [f"text {number}" for number in range(100)]


@pytest.mark.parametrize("fraction", [0.1, 0.25, 1 / 3])
def test_each_label_gives_its_share_as_in_scikit_learn(fraction):
    held_out = held_out_indices(TEXTS, LABELS, fraction, seed=0)
    counts = collections.Counter(LABELS[place] for place in held_out)
    ((_, theirs),) = StratifiedShuffleSplit(1, test_size=round(fraction * 100), random_state=0).split(
        TEXTS, LABELS
    )
    assert len(held_out) == len(theirs)
    for label, count in collections.Counter(LABELS[place] for place in theirs).items():
        assert abs(counts[label] - count) <= 1 and abs(counts[label] - fraction * LABELS.count(label)) < 1


def test_neither_order_nor_anything_else_changes_what_is_held_out():
    rows = list(zip(TEXTS, LABELS, strict=True))
    chosen = {TEXTS[place] for place in held_out_indices(TEXTS, LABELS, 0.2, seed=3)}
    random.Random(1).shuffle(rows)
    texts, labels = zip(*rows, strict=True)
    assert {texts[place] for place in held_out_indices(texts, labels, 0.2, seed=3)} == chosen
    assert {texts[place] for place in held_out_indices(texts, labels, 0.2, seed=4)} != chosen
    first = min(TEXTS[95:], key=lambda text: hashlib.sha256(f"3:{text}".encode()).hexdigest())
    assert chosen & set(TEXTS[95:]) == {first}  # the one of label d, on every machine


def test_equal_texts_stay_together_whatever_their_labels():
    texts = [f"text {number // 3}" for number in range(90)]
    labels = [("a", "b", "b")[number % 3] for number in range(90)]
    held_out = set(held_out_indices(texts, labels, 0.2, seed=0))
    assert len(held_out) == 18
    assert not {texts[place] for place in held_out} & {texts[p] for p in range(90) if p not in held_out}


def test_no_label_is_held_out_completely():
    held_out = held_out_indices(["x", "y", "z", "u"], ["a", "a", "b", "c"], 0.75, seed=0)
    assert [place for place in held_out if place > 1] == [] and len(held_out) == 1


def test_a_share_that_large_groups_leave_far_too_small_is_said():
    groups = ["novel"] * 5000 + ["note"] * 10
    assert len(held_out_indices(groups, [""] * 5010, 0.2, seed=0)) == 10
    assert "dev_split=0.2 holds out only 10 of 5,010 examples: those of equal" in far_fewer(0.2, 10, 5010)
    assert far_fewer(0.2, 1000, 5010) is None
    with pytest.raises(ValueError, match="in 2 groups holds out none: those of equal texts, of a document"):
        held_out_indices(["a"] * 50 + ["b"] * 50, [""] * 100, 0.2, seed=0)


def test_what_stays_together_is_the_task_s_to_say():
    questions = [Question(f"q{n}", "who?", context, ()) for n, context in enumerate("AAB")]
    assert QuestionAnswering.files.groups(questions) == ["A", "A", "B"]
    one, other = (Document([("w", str(number)), ("x",)]) for number in range(2))
    sentences = [TaggedSentence(words, doc, 0, ("O",)) for doc in (one, other) for words in doc.sentences]
    first, second, third, fourth = TokenClassification.files.groups(sentences)
    assert first == second != third == fourth
    assert len(set(TokenClassification.files.groups(sentences[:2]))) == 2  # one document: by sentence
    pairs = [LabelledText("a", "b", ("y", "x")), LabelledText("a", "b", ("x",)), LabelledText("a", "c", ())]
    first, second, third = MultiLabelClassification.files.groups(pairs)
    assert first == second != third


def test_labels_that_stand_together_once_are_held_out_too():
    """Of 300 examples with 5 of 20 labels hardly two have the same: 4 were held out in the place of 60."""
    rng, names = random.Random(0), "abcdefghijklmnopqrst"
    examples = [LabelledText(f"t{n}", None, tuple(rng.sample(names, 5))) for n in range(300)]
    files = MultiLabelClassification.files
    held_out = held_out_indices(files.groups(examples), files.strata(examples), 0.2, seed=0)
    assert len(held_out) == 60
    counts = collections.Counter(label for place in held_out for label in examples[place].label)
    whole = collections.Counter(label for example in examples for label in example.label)
    assert all(0.1 < counts[label] / whole[label] < 0.3 for label in names)
    few = [
        LabelledText(str(n), None, label)
        for n, label in enumerate([("x", "y"), ("y", "x"), ("x",), ("z", "x")])
    ]
    assert files.strata(few) == ["['x', 'y']", "['x', 'y']", "['x']", "['z']"]


@pytest.mark.parametrize("task", [MultipleNegativesRanking, SparseEmbedding, LateInteraction])
def test_queries_stay_together_and_scored_pairs_alone(task):
    rows = [TextGroup((query, f"{query} {n}"), None) for query in "abc" for n in range(2)]
    rows.append(TaughtGroup(("a", "d"), None, (1.0,)))
    assert task.files.groups(rows) == [repr(row.texts[0]) for row in rows]
    scored = [TextGroup(("a", str(n)), 0.5) for n in range(3)]
    assert len({*task.files.groups(scored)}) == 3
