"""Batches without duplicate texts: properties over random files, and the same order when resumed."""

import itertools
import tracemalloc

import numpy as np
import pytest

from kbert.input_pipelines.batches import training_batches
from kbert.input_pipelines.distinct_batches import DistinctBatches
from kbert.input_pipelines.text_reader import RowsInMemory


def random_rows(number, num_texts, seed):
    """Rows of a query and two repeated texts: of each column some are frequent."""
    rng = np.random.default_rng(seed)
    return [
        (f"query {row}", *(str(int(value)) for value in rng.integers(0, num_texts, size=2) ** 2 // num_texts))
        for row in range(number)
    ]


def require_distinct(rows, batches):
    for batch in batches:
        texts = [text for row in batch for text in set(rows[row])]
        assert len(texts) == len(set(texts))


@pytest.mark.parametrize(
    ("number", "num_texts", "size"), [(60, 400, 8), (203, 900, 16), (64, 300, 4), (7, 99, 3)]
)
@pytest.mark.parametrize("seed", range(3))
def test_no_text_twice_in_a_batch_and_no_row_twice_in_an_epoch(number, num_texts, size, seed):
    rows = random_rows(number, num_texts, seed)
    order = DistinctBatches(rows, size).order(seed)
    assert len(order) == number // size * size == len(set(order.tolist()))
    require_distinct(rows, order.reshape(-1, size))


def test_texts_as_frequent_as_there_are_batches_find_places():
    """The hardest file that has an order: a text in every batch, and every row repeats something."""
    rows = [(f"query {place % 4}", f"answer {place}") for place in range(16)]
    for seed in range(5):
        batches = DistinctBatches(rows, 4).order(seed).reshape(4, 4)
        require_distinct(rows, batches)
        assert sorted(batches.ravel()) == list(range(16))


def test_more_rows_of_a_text_than_batches():
    rows = [("same", f"answer {place}") for place in range(4)]
    rows += [("x", "y"), ("z", "w")]
    with pytest.raises(
        ValueError, match="has 3 batches, and the most frequent text .'same'. is in 4 of the 6"
    ):
        DistinctBatches(rows, 2).order(0)
    # Seven rows make three batches too, and one of the four may be left out.
    rows.append(("u", "v"))
    require_distinct(rows, DistinctBatches(rows, 2).order(0).reshape(3, 2))


@pytest.mark.parametrize("seed", range(5))
def test_a_positive_of_a_query_stands_beside_none_of_its_rows(seed):
    """Queries with three positives, the last of which is the first of the next query."""
    positives = {f"query {n}": (f"{n}", f"{n} alone", f"{n + 1}") for n in range(12)}
    rows = [(query, own) for query, all_ in positives.items() for own in all_]
    batches = DistinctBatches(rows, 3).order(seed).reshape(12, 3)
    require_distinct(rows, batches)
    for row, other in (pair for batch in batches for pair in itertools.permutations(batch, 2)):
        assert not set(rows[row]) & set(positives[rows[other][0]])


def test_frequent_queries_and_positives_of_two_queries_find_places():
    """Queries of 9 to 2 rows in 10 batches, each sharing a positive with the next; and others."""
    positives = {f"query {n}": [f"{n}.{place}" for place in range(9 - n)] for n in range(8)}
    for n in range(7):
        positives[f"query {n}"][-1] = f"{n + 1}.0"
    rows = [(query, own) for query, all_ in positives.items() for own in all_]
    rows += [(f"other {n}", f"answer {n}") for n in range(26)]
    for seed in range(20):
        batches = DistinctBatches(rows, 7).order(seed).reshape(10, 7)
        require_distinct(rows, batches)


def test_an_epoch_without_an_order_of_its_own_has_that_of_the_others(monkeypatch):
    rows = random_rows(18, 60, seed=4)
    distinct = DistinctBatches(rows, 4)
    distinct.require_order()
    first = distinct.order(1)
    monkeypatch.setattr(distinct, "_arranged", lambda random, attempts: None)
    second, third = distinct.order(1), distinct.order(2)
    assert not np.array_equal(second, first) and not np.array_equal(second, third)
    for order in (second, third):
        require_distinct(rows, order.reshape(4, 4))
    with pytest.raises(ValueError, match="found no order"):
        fresh = DistinctBatches(rows, 4)
        monkeypatch.setattr(fresh, "_arranged", lambda random, attempts: None)
        fresh.require_order()


def test_rows_of_two_queries_that_share_another_positive_may_stand_together():
    rows = [(query, answer) for query in "ab" for answer in (f"of {query}", "of both")]
    rows += [("c", "d"), ("e", "f")]
    batches = [
        set(batch) for seed in range(20) for batch in DistinctBatches(rows, 2).order(seed).reshape(3, 2)
    ]
    assert {0, 2} in batches


def test_memory_grows_with_the_rows_and_not_with_the_square_of_a_querys_positives():
    rows = [(f"tag {query}", f"text {query} {place}") for query in range(2) for place in range(500)]
    tracemalloc.start()
    try:
        DistinctBatches(rows, 2).require_order()
        assert tracemalloc.get_traced_memory()[1] < 3e6  # 500,000 texts would not fit
    finally:
        tracemalloc.stop()


def test_a_text_in_more_rows_than_there_are_batches_is_refused_before_any_order_is_tried(monkeypatch):
    rows = [(f"query {n}", "same" if n < 8 else f"answer {n}") for n in range(21)]  # 5 batches, 1 row over
    distinct = DistinctBatches(rows, 4)
    monkeypatch.setattr(distinct, "_arrange", lambda shuffled: pytest.fail("an order was tried"))
    for ask in (distinct.require_order, lambda: distinct.order(0)):
        with pytest.raises(ValueError, match="an epoch has 5 batches.*'same'. is in 8 of the 21"):
            ask()


def batches_from(start, rows, size=4, **options):
    features = {
        "input_ids": np.arange(len(rows), dtype=np.int32)[:, None],
        "input_mask": np.ones((len(rows), 1), np.int32),
    }
    dataset = training_batches(RowsInMemory(features, texts_apart=rows), size, 5, start, **options)
    return [batch["input_ids"][:, 0].tolist() for batch in dataset.take(12).as_numpy_iterator()]


def test_batches_over_epochs_and_resumed_anywhere():
    rows = random_rows(18, 60, seed=4)
    whole = batches_from(0, rows)  # four batches an epoch
    require_distinct(rows, whole)
    assert whole[:4] != whole[4:8]
    for step in (1, 3, 4, 7):
        assert batches_from(step * 4, rows)[: 12 - step] == whole[step:]


def test_two_pipelines_share_each_batch():
    from kbert.input_pipelines.epochs import Share

    rows = random_rows(18, 60, seed=4)
    parts = [batches_from(0, rows, share=Share(2, place)) for place in range(2)]
    assert [first + second for first, second in zip(*parts, strict=True)] == batches_from(0, rows)
