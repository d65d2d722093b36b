"""Batches without duplicate texts: properties over random files, and the same order when resumed."""

import itertools

import numpy as np
import pytest

from kbert.input_pipelines.batches import training_batches
from kbert.input_pipelines.distinct_batches import DistinctBatches, TextsApart
from kbert.input_pipelines.text_reader import RowsInMemory


def random_rows(number, num_texts, seed):
    """Rows with repeated texts: of each column's texts some are frequent."""
    rng = np.random.default_rng(seed)
    return [
        TextsApart(tuple(str(int(value)) for value in rng.integers(0, num_texts, size=2) ** 2 // num_texts))
        for _ in range(number)
    ]


def require_distinct(rows, batches):
    for batch in batches:
        texts = [text for row in batch for text in set(rows[row].own)]
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
    rows = [TextsApart((f"query {place % 4}", f"answer {place}")) for place in range(16)]
    for seed in range(5):
        batches = DistinctBatches(rows, 4).order(seed).reshape(4, 4)
        require_distinct(rows, batches)
        assert sorted(batches.ravel()) == list(range(16))


def test_more_rows_of_a_text_than_batches():
    rows = [TextsApart(("same", f"answer {place}")) for place in range(4)]
    rows += [TextsApart(("x", "y")), TextsApart(("z", "w"))]
    with pytest.raises(
        ValueError, match="has 3 batches, and the most frequent text .'same'. is in 4 of the 6"
    ):
        DistinctBatches(rows, 2).order(0)
    # Seven rows make three batches too, and one of the four may be left out.
    rows.append(TextsApart(("u", "v")))
    require_distinct(rows, DistinctBatches(rows, 2).order(0).reshape(3, 2))


@pytest.mark.parametrize("seed", range(5))
def test_what_an_example_bars_is_held_by_no_other(seed):
    """Queries with three positives, the last of which is the first of the next query."""
    positives = {f"query {n}": (f"{n}", f"{n} alone", f"{n + 1}") for n in range(12)}
    rows = [TextsApart((query, own), all_) for query, all_ in positives.items() for own in all_]
    batches = DistinctBatches(rows, 3).order(seed).reshape(12, 3)
    require_distinct(rows, batches)
    for row, other in (pair for batch in batches for pair in itertools.permutations(batch, 2)):
        assert not set(rows[row].own) & set(rows[other].barred)


def test_frequent_queries_and_positives_of_two_queries_find_places():
    """Queries of 9 to 2 rows in 10 batches, each sharing a positive with the next; and others."""
    positives = {f"query {n}": [f"{n}.{place}" for place in range(9 - n)] for n in range(8)}
    for n in range(7):
        positives[f"query {n}"][-1] = f"{n + 1}.0"
    rows = [TextsApart((query, own), tuple(all_)) for query, all_ in positives.items() for own in all_]
    rows += [TextsApart((f"other {n}", f"answer {n}")) for n in range(26)]
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


def test_examples_that_bar_the_same_text_may_stand_together():
    rows = [TextsApart((query, f"answer {query}"), ("answer of both",)) for query in "ab"]
    assert sorted(DistinctBatches(rows, 2).order(0)) == [0, 1]


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
