"""Precision, recall and F1 over entities against seqeval, in both of its modes."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tasks.token_classification.entity_scores import (
    Entity,
    EntityCounts,
    entity_metrics,
    find_entities,
    precision_recall_f1,
)

# Tags in any order, as a model gives them.
TAGS = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-a-b", "I-a-b"])
PAIRS = st.lists(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=12), min_size=1, max_size=5)


def seqeval_scores(true, predicted, **mode):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's and sklearn's, of old names and of nothing to divide by
        from seqeval.metrics import f1_score, precision_score, recall_score

        return tuple(score(true, predicted, **mode) for score in (precision_score, recall_score, f1_score))


def strict_mode():
    from seqeval.scheme import IOB2

    return {"mode": "strict", "scheme": IOB2}


@pytest.mark.parametrize("strict", [False, True])
@settings(max_examples=40)
@given(pairs=PAIRS)
def test_scores_are_seqevals(strict, pairs):
    true = [[one for one, _ in sentence] for sentence in pairs]
    predicted = [[other for _, other in sentence] for sentence in pairs]
    counts = EntityCounts(strict)
    for sentence, said in zip(true, predicted, strict=True):
        counts.add(sentence, said)
    expected = seqeval_scores(true, predicted, **(strict_mode() if strict else {}))
    assert counts.overall() == pytest.approx(expected, abs=1e-12)


def test_entities_of_every_short_sentence_are_seqevals():
    """Also in BIOES, as no sentence of the scheme has them but a model may predict them."""
    from seqeval.metrics.sequence_labeling import get_entities

    for sentence in short_sentences(4):
        found = [(kind, start, end - 1) for kind, start, end in find_entities(sentence)]
        assert found == get_entities(sentence), sentence


def short_sentences(longest):
    tags = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("PER", "LOC"))]
    for length in range(1, longest + 1):
        yield from map(list, itertools.product(tags, repeat=length))


def test_strict_entities_of_bioes_end_as_seqevals():
    from seqeval.scheme import IOBES, Entities

    for sentence in short_sentences(3):
        found = [(0, *entity) for entity in find_entities(sentence, strict=True, with_ends=True)]
        assert found == [entity.to_tuple() for entity in Entities([sentence], IOBES).entities[0]], sentence
    tags = ["O", "B-PER", "I-PER", "E-PER", "S-PER"]
    metrics = entity_metrics([(np.array([1, 3, 0]), np.array([1, 2, 0]))], tags, ["PER"])
    assert (metrics["f1"], metrics["strict_f1"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("tags", "usual", "strict"),
    [
        (["I-PER", "I-PER", "O"], [Entity("PER", 0, 2)], []),
        (["B-PER", "I-LOC"], [Entity("PER", 0, 1), Entity("LOC", 1, 2)], [Entity("PER", 0, 1)]),
        (["B-PER", "B-PER"], [Entity("PER", 0, 1), Entity("PER", 1, 2)], None),
        (["O", "B-PER", "I-PER"], [Entity("PER", 1, 3)], None),
        (["S-PER", "E-PER"], [Entity("PER", 0, 1), Entity("PER", 1, 2)], [Entity("PER", 0, 1)]),
        ([], [], None),
    ],
)
def test_entities_by_hand(tags, usual, strict):
    assert find_entities(tags) == usual
    assert find_entities(tags, strict=True) == (usual if strict is None else strict)


def test_counts_by_type():
    counts = EntityCounts()
    counts.add(["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O", "B-LOC", "B-LOC"])
    assert counts.totals(["PER"]) == (0, 1, 1) and counts.totals(["LOC"]) == (1, 2, 1)
    assert counts.overall() == precision_recall_f1(1, 3, 2) == pytest.approx((1 / 3, 1 / 2, 2 / 5))
    assert precision_recall_f1(0, 0, 0) == (0.0, 0.0, 0.0)
