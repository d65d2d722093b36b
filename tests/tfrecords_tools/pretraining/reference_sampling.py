"""The original's pretraining data in plain Python lists: the reference that the fast code is compared with.

Written independently of tfrecords_tools, from the description of google-research/bert's
create_pretraining_data.py. One `random.Random` makes all choices, in the original's order. The long test
in test_create_pretraining_data.py shows that this reference, with the original's seed, gives exactly the
original's statistics.
"""

import random
from typing import NamedTuple


class Instance(NamedTuple):
    first: list[int]
    second: list[int]
    is_random_next: bool
    masked_ids: list[int] | None = None
    positions: list[int] | None = None
    answers: list[int] | None = None


class Masking(NamedTuple):
    """What masking of single pieces needs to know."""

    cls_id: int
    sep_id: int
    mask_id: int
    vocab_size: int
    max_predictions: int = 20
    prob: float = 0.15


class FastRandom(random.Random):
    """Draws whole numbers as tfrecords_tools does, so that the same state gives the same choices."""

    def randint(self, a, b):
        return a + int(self.random() * (b - a + 1))


def instances(documents, max_seq_length, short_seq_prob, dupe_factor, rng, masking=None):
    """All instances in the order they are drawn; masked as they are drawn when `masking` is given."""
    documents = list(documents)
    rng.shuffle(documents)
    found = []
    for _ in range(dupe_factor):
        for index in range(len(documents)):
            found += from_document(documents, index, max_seq_length, short_seq_prob, rng, masking)
    return found


def from_document(documents, index, max_seq_length, short_seq_prob, rng, masking=None, truncates=True):
    """The instances of one document; without truncation where `truncates` is false."""
    document = documents[index]
    budget = max_seq_length - 3
    target = rng.randint(2, budget) if rng.random() < short_seq_prob else budget
    found, chunk, i = [], [], 0
    while i < len(document):
        chunk.append(document[i])
        if i == len(document) - 1 or sum(map(len, chunk)) >= target:
            split = rng.randint(1, len(chunk) - 1) if len(chunk) >= 2 else 1
            first = sum(chunk[:split], [])
            if len(chunk) == 1 or rng.random() < 0.5:
                is_random, second = True, []
                for _ in range(10):
                    other = rng.randint(0, len(documents) - 1)
                    if other != index:
                        break
                start = rng.randint(0, len(documents[other]) - 1)
                for sentence in documents[other][start:]:
                    second = second + sentence
                    if len(second) >= target - len(first):
                        break
                i -= len(chunk) - split
            else:
                is_random, second = False, sum(chunk[split:], [])
            while truncates and len(first) + len(second) > budget:
                longer = first if len(first) > len(second) else second
                longer.pop(0 if rng.random() < 0.5 else -1)
            instance = Instance(first, second, is_random)
            if masking is not None:
                ids = [masking.cls_id, *first, masking.sep_id, *second, masking.sep_id]
                instance = instance._replace(**mask(ids, masking, rng))
            found.append(instance)
            chunk = []
        i += 1
    return found


def mask(ids, masking, rng):
    candidates = [i for i, piece in enumerate(ids) if piece not in (masking.cls_id, masking.sep_id)]
    rng.shuffle(candidates)
    number = min(masking.max_predictions, max(1, round(len(ids) * masking.prob)))
    masked_ids, answers = list(ids), {}
    for i in candidates[:number]:
        answers[i] = ids[i]
        if rng.random() < 0.8:
            masked_ids[i] = masking.mask_id
        elif rng.random() >= 0.5:
            masked_ids[i] = rng.randint(0, masking.vocab_size - 1)
    positions = sorted(answers)
    return {
        "masked_ids": masked_ids,
        "positions": positions,
        "answers": [answers[i] for i in positions],
    }
