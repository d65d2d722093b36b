"""An order of examples in which no batch has a text twice. NumPy only."""

import collections
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kbert.cli.progress import activity

_ATTEMPTS, _MOST_ATTEMPTS = 8, 32


def positives_of_queries(texts) -> dict[str, set[str]]:
    """query -> its positives in all examples: the second texts of those that begin with it."""
    positives: dict[str, set[str]] = {}
    for query, positive, *_ in texts:
        positives.setdefault(query, set()).add(positive)
    return positives


class DistinctBatches:
    """Arranges examples into full batches in which no example holds a text of another one, or a positive of
    another one's query.

    Texts are compared exactly, over all columns. Each epoch has `num_examples // batch_size` batches; the
    rest of the examples is left out of it. The order depends only on the examples and the seed of the epoch.

    Args:
      texts: of each example a query, a positive of it, and any others.
      batch_size: the number of examples in a batch.

    Attributes:
      num_batches: the number of batches in an epoch.

    Examples:
      >>> texts = ["ab", "ac", "de", "fe"]
      >>> order = DistinctBatches(texts, batch_size=2).order(seed=7)
      >>> [sorted(texts[row] for row in batch) for batch in order.reshape(2, 2)]
      [['ac', 'de'], ['ab', 'fe']]
    """

    def __init__(self, texts: Sequence[Sequence[str]], batch_size: int):
        held = collections.Counter(text for row in texts for text in dict.fromkeys(row))
        positives = positives_of_queries(texts)
        self._examples = _texts_apart(texts, held, positives)
        self._frequency = _frequencies(texts, held, positives)
        self._batch_size = batch_size
        self.num_batches = len(texts) // batch_size
        self._spare = len(texts) % batch_size
        self._most_frequent = held.most_common(1)[0] if held else ("", 0)

    def order(self, seed: int) -> np.ndarray:
        """The examples of an epoch, int64 of shape (num_batches * batch_size,), batch by batch.

        Raises:
          ValueError: as `require_order`.
        """
        random = np.random.default_rng(seed)
        batches = self._arranged(random, _ATTEMPTS) or self._steady_batches
        return np.asarray(batches, np.int64)[random.permutation(self.num_batches)].ravel()

    def require_order(self):
        """Makes sure that every epoch has an order; one whose own is not found has these batches.

        Raises:
          ValueError: when no such batches were found, for example because a text stands in more examples than
            there are batches.
        """
        with activity("an order without equal texts in a batch"):
            self._steady_batches  # noqa: B018  # made here

    @functools.cached_property
    def _steady_batches(self):
        if (batches := self._arranged(np.random.default_rng(0), _MOST_ATTEMPTS)) is not None:
            return batches
        text, count = self._most_frequent
        raise ValueError(
            f"found no order that keeps equal texts out of the same batch of {self._batch_size}: an "
            f"epoch has {self.num_batches} batches, and the most frequent text ({text[:80]!r}) is "
            f"in {count} of the {len(self._examples)} training examples. Lower train_batch_size, or "
            "leave examples out."
        )

    def _arranged(self, random, attempts):
        """Batches as lists of examples, or None where none were found."""
        if self._most_frequent[1] > self.num_batches + self._spare:
            return None
        for _ in range(attempts):
            batches = self._arrange(random.permutation(len(self._examples)))
            if batches is not None:
                return batches
        return None

    def _arrange(self, shuffled):
        """Batches as lists of examples, or None. Examples with frequent texts choose their batch first."""
        filling = _Filling(self._examples, self.num_batches, self._batch_size)
        spare = self._spare
        for example in shuffled[np.argsort(-self._frequency[shuffled], kind="stable")].tolist():
            if filling.is_full():
                break
            if not filling.add(example):
                spare -= 1
                if spare < 0:
                    return None
        return filling.batches


class _TextsApart(NamedTuple):
    """What an example holds, and what no other of its batch may hold. Sets of a query, and of a text, are
    shared by all examples that have it: memory grows with the number of examples.

    Fields:
      query: its query.
      texts: its texts that other examples hold too.
      positives: the positives of its query, of such texts.
      queries: for each of the `texts` the queries that it is a positive of.
    """

    query: str
    texts: frozenset[str]
    positives: frozenset[str]
    queries: tuple[set[str], ...]


def _texts_apart(texts, held, positives):
    def repeated(some):
        return frozenset(text for text in some if held[text] > 1)

    repeated_positives = {query: repeated(own) for query, own in positives.items()}
    queries: dict[str, set[str]] = collections.defaultdict(set)
    for query, own in repeated_positives.items():
        for text in own:
            queries[text].add(query)
    examples = []
    for row in texts:
        own = repeated(row)
        is_positive_of = tuple(queries[text] for text in own if text in queries)
        examples.append(_TextsApart(row[0], own, repeated_positives[row[0]], is_positive_of))
    return examples


def _frequencies(texts, held, positives):
    """For each example the most examples that name one of the texts that it names: those that it holds, and
    the positives of its query."""
    named, examples = held.copy(), collections.Counter(row[0] for row in texts)
    for query, own in positives.items():
        named.update(dict.fromkeys(own, examples[query]))
    named.subtract(text for row in texts for text in positives[row[0]].intersection(row))
    most = {query: max(map(named.__getitem__, own)) for query, own in positives.items()}
    return np.array([max(most[row[0]], *map(named.__getitem__, row)) for row in texts])


class _Filling:
    """Batches while they are filled, each with the repeated texts and the queries that its examples hold."""

    def __init__(self, examples, num_batches, batch_size):
        self._examples, self._batch_size = examples, batch_size
        self.batches = [[] for _ in range(num_batches)]
        self._texts = [set() for _ in range(num_batches)]
        self._queries = [set() for _ in range(num_batches)]
        self._open = list(range(num_batches))
        self._next = 0

    def is_full(self):
        return not self._open

    def add(self, example) -> bool:
        """Puts an example into the next batch that has room and that it fits, if there is one."""
        for offset in range(len(self._open)):
            slot = (self._next + offset) % len(self._open)
            if self._fits(example, self._open[slot]):
                self._next = slot + 1
                self._put(example, slot)
                return True
        return self._add_by_exchange(example)

    def _fits(self, example, batch):
        own, texts, queries = self._examples[example], self._texts[batch], self._queries[batch]
        return (
            own.texts.isdisjoint(texts)
            and own.positives.isdisjoint(texts)
            and all(others.isdisjoint(queries) for others in own.queries)
        )

    def _put(self, example, slot):
        batch = self._open[slot]
        self.batches[batch].append(example)
        self._count(batch, [example])
        if len(self.batches[batch]) == self._batch_size:
            self._open[slot] = self._open[-1]
            self._open.pop()

    def _count(self, batch, examples):
        for own in map(self._examples.__getitem__, examples):
            self._texts[batch] |= own.texts
            self._queries[batch].add(own.query)

    def _add_by_exchange(self, example):
        """Puts an example into a batch one of whose examples moves to a batch with room: the only one that it
        does not fit, or any one of a full batch."""
        for batch, members in enumerate(self.batches):
            others = [index for index, other in enumerate(members) if not self._agree(example, other)]
            if len(others) > 1:
                continue
            for index in others or range(len(members)):
                for slot, target in enumerate(self._open):
                    if target != batch and self._fits(members[index], target):
                        other, members[index] = members[index], example
                        self._texts[batch], self._queries[batch] = set(), set()
                        self._count(batch, members)
                        self._put(other, slot)
                        return True
        return False

    def _agree(self, example, other):
        own, others = self._examples[example], self._examples[other]
        return (
            own.texts.isdisjoint(others.texts)
            and own.positives.isdisjoint(others.texts)
            and others.positives.isdisjoint(own.texts)
        )
