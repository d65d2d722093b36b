"""An order of examples in which no batch has a text twice. NumPy only."""

import collections
import functools
from typing import NamedTuple

import numpy as np

_ATTEMPTS, _MOST_ATTEMPTS = 8, 32


class TextsApart(NamedTuple):
    """The texts of an example, and what no other example of its batch may hold beside them.

    Fields:
      own: its texts.
      barred: other texts; two examples that bar the same one may stand together.
    """

    own: tuple[str, ...]
    barred: tuple[str, ...] = ()


class DistinctBatches:
    """Arranges examples into full batches in which no example holds a text of another one, or one it bars.

    Texts are compared exactly, over all columns. Each epoch has `num_examples // batch_size` batches; the
    rest of the examples is left out of it. The order depends only on the examples and the seed of the epoch.

    Args:
      texts: the `TextsApart` of each example.
      batch_size: the number of examples in a batch.

    Attributes:
      num_batches: the number of batches in an epoch.

    Examples:
      >>> texts = [TextsApart(pair) for pair in ("ab", "ac", "de", "fb")]
      >>> order = DistinctBatches(texts, batch_size=2).order(seed=7)
      >>> [sorted(texts[row].own[0] for row in batch) for batch in order.reshape(2, 2)]
      [['a', 'f'], ['a', 'd']]
    """

    def __init__(self, texts: list[TextsApart], batch_size: int):
        everyone = [{*row.own, *row.barred} for row in texts]
        counts = collections.Counter(text for row in everyone for text in row)
        numbers = {text: number for number, text in enumerate(text for text, n in counts.items() if n > 1)}

        def numbered(row):  # only texts that several examples name can meet themselves
            return frozenset(numbers[text] for text in row if text in numbers)

        self._texts = [(numbered(row.own), numbered(both)) for row, both in zip(texts, everyone, strict=True)]
        frequencies = [counts[text] for text in numbers]
        self._frequency = np.array([max((frequencies[n] for n in row), default=1) for _, row in self._texts])
        self._batch_size = batch_size
        self.num_batches = len(texts) // batch_size
        held = collections.Counter(text for row in texts for text in set(row.own))
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
        self._steady_batches  # noqa: B018  # made here

    @functools.cached_property
    def _steady_batches(self):
        if (batches := self._arranged(np.random.default_rng(0), _MOST_ATTEMPTS)) is not None:
            return batches
        text, count = self._most_frequent
        raise ValueError(
            f"found no order that keeps equal texts out of the same batch of {self._batch_size}: an "
            f"epoch has {self.num_batches} batches, and the most frequent text ({text[:80]!r}) is "
            f"in {count} of the {len(self._texts)} training examples. Lower train_batch_size, or "
            "leave examples out."
        )

    def _arranged(self, random, attempts):
        """Batches as lists of examples, or None where none were found."""
        for _ in range(attempts):
            batches = self._arrange(random.permutation(len(self._texts)))
            if batches is not None:
                return batches
        return None

    def _arrange(self, shuffled):
        """Batches as lists of examples, or None. Examples with frequent texts choose their batch first."""
        filling = _Filling(self._texts, self.num_batches, self._batch_size)
        spare = len(self._texts) - self.num_batches * self._batch_size
        for example in shuffled[np.argsort(-self._frequency[shuffled], kind="stable")].tolist():
            if filling.is_full():
                break
            if not filling.add(example):
                spare -= 1
                if spare < 0:
                    return None
        return filling.batches


class _Filling:
    """Batches while they are filled, each with the sets of the repeated texts that its examples hold, and of
    those that no other example may hold."""

    def __init__(self, texts, num_batches, batch_size):
        self._example_texts, self._batch_size = texts, batch_size
        self.batches = [[] for _ in range(num_batches)]
        self._own = [frozenset()] * num_batches
        self._closed = [frozenset()] * num_batches
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
        own, closed = self._example_texts[example]
        return own.isdisjoint(self._closed[batch]) and closed.isdisjoint(self._own[batch])

    def _put(self, example, slot):
        batch = self._open[slot]
        self.batches[batch].append(example)
        self._count(batch, [example])
        if len(self.batches[batch]) == self._batch_size:
            self._open[slot] = self._open[-1]
            self._open.pop()

    def _count(self, batch, examples):
        own, closed = zip(*(self._example_texts[example] for example in examples), strict=True)
        self._own[batch] = self._own[batch].union(*own)
        self._closed[batch] = self._closed[batch].union(*closed)

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
                        self._own[batch] = self._closed[batch] = frozenset()
                        self._count(batch, members)
                        self._put(other, slot)
                        return True
        return False

    def _agree(self, example, other):
        (own, closed), (others, others_closed) = (self._example_texts[row] for row in (example, other))
        return own.isdisjoint(others_closed) and closed.isdisjoint(others)
