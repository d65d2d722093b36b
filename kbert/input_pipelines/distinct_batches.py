"""An order of examples in which no batch has a text twice. NumPy only."""

import collections

import numpy as np

_ATTEMPTS = 8


class DistinctBatches:
    """Arranges examples into full batches in which no two examples share a text.

    Texts are compared exactly, over all columns. Each epoch has `num_examples // batch_size` batches; the
    rest of the examples is left out of it. The order depends only on the examples and the seed of the epoch.

    Args:
      texts: for each example its texts.
      batch_size: the number of examples in a batch.

    Attributes:
      num_batches: the number of batches in an epoch.

    Examples:
      >>> texts = [("a", "b"), ("a", "c"), ("d", "e"), ("f", "b")]
      >>> order = DistinctBatches(texts, batch_size=2).order(seed=7)
      >>> [sorted(texts[row][0] for row in batch) for batch in order.reshape(2, 2)]
      [['a', 'f'], ['a', 'd']]
    """

    def __init__(self, texts, batch_size: int):
        counts = collections.Counter(text for row in texts for text in set(row))
        numbers = {text: number for number, text in enumerate(text for text, n in counts.items() if n > 1)}
        # Only texts that stand in several examples can meet themselves.
        self._texts = [frozenset(numbers[text] for text in row if text in numbers) for row in texts]
        frequencies = [counts[text] for text in numbers]
        self._frequency = np.array([max((frequencies[n] for n in row), default=1) for row in self._texts])
        self._batch_size = batch_size
        self.num_batches = len(texts) // batch_size
        self._most_frequent = counts.most_common(1)[0] if counts else ("", 0)

    def order(self, seed: int) -> np.ndarray:
        """The examples of an epoch, int64 of shape (num_batches * batch_size,), batch by batch.

        Raises:
          ValueError: when no such batches were found, for example because a text stands in more examples than
            there are batches.
        """
        random = np.random.default_rng(seed)
        for _ in range(_ATTEMPTS):
            batches = self._arrange(random.permutation(len(self._texts)))
            if batches is not None:
                shuffled = random.permutation(self.num_batches)
                return np.asarray(batches, np.int64)[shuffled].ravel()
        text, count = self._most_frequent
        raise ValueError(
            f"no order of the {len(self._texts)} training examples was found in which no text stands twice "
            f"in a batch of {self._batch_size}: an epoch has {self.num_batches} batches, and the most "
            f"frequent text ({text[:80]!r}) stands in {count} examples. Lower train_batch_size, or leave "
            "examples out."
        )

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
    """Batches while they are filled, each with the set of its repeated texts."""

    def __init__(self, texts, num_batches, batch_size):
        self._example_texts, self._batch_size = texts, batch_size
        self.batches = [[] for _ in range(num_batches)]
        self._texts = [set() for _ in range(num_batches)]
        self._open = list(range(num_batches))
        self._next = 0

    def is_full(self):
        return not self._open

    def add(self, example) -> bool:
        """Puts an example into the next batch that has room and none of its texts, if there is one."""
        texts = self._example_texts[example]
        for offset in range(len(self._open)):
            slot = (self._next + offset) % len(self._open)
            if texts.isdisjoint(self._texts[self._open[slot]]):
                self._next = slot + 1
                self._put(example, slot)
                return True
        return self._add_by_exchange(example)

    def _put(self, example, slot):
        batch = self._open[slot]
        self.batches[batch].append(example)
        self._texts[batch] |= self._example_texts[example]
        if len(self.batches[batch]) == self._batch_size:
            self._open[slot] = self._open[-1]
            self._open.pop()

    def _add_by_exchange(self, example):
        """Puts an example into a full batch, one of whose examples moves to a batch with room."""
        texts = self._example_texts[example]
        for batch, present in enumerate(self._texts):
            if not texts.isdisjoint(present):
                continue
            for index, other in enumerate(self.batches[batch]):
                moved = self._example_texts[other]
                for slot, target in enumerate(self._open):
                    if moved.isdisjoint(self._texts[target]):
                        self.batches[batch][index] = example
                        self._texts[batch] = (present - moved) | texts
                        self._put(other, slot)
                        return True
        return False
