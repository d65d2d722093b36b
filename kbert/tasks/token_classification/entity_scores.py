"""Entities of tagged sentences, and precision, recall and F1 over them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kbert.tasks.token_classification.tag_schemes import split_tag


class Entity(NamedTuple):
    """An entity of a sentence: its `type`, its first word, and the word after its last."""

    type: str
    start: int
    end: int


class Scores(NamedTuple):
    """Precision, recall and F1, each from 0 to 1, and 0 where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float


def find_entities(tags: Sequence[str], strict: bool = False) -> list[Entity]:
    """The entities of a sentence in IOB2.

    Args:
      tags: the sentence's, which a model may have put in any order.
      strict: an entity is what begins with B. Otherwise, as in the official conlleval, it also begins with
        an I that follows O or another type: I-PER after O is a whole entity, and B-PER I-LOC are two.

    Reference: conlleval.pl of CoNLL-2000, which is the default mode of seqeval; with `strict` seqeval's
    `mode="strict", scheme=IOB2`.
    """
    found, start, current = [], 0, ""
    for place, tag in enumerate([*tags, "O"]):
        prefix, kind = split_tag(tag)
        if current and (prefix != "I" or kind != current):
            found.append(Entity(current, start, place))
            current = ""
        if not current and (prefix == "B" or (prefix == "I" and not strict)):
            start, current = place, kind
    return found


class EntityCounts:
    """How many entities were right, predicted and true, for each type.

    Args:
      strict: see `find_entities`.

    Attributes:
      right, predicted, true: type -> number.
    """

    def __init__(self, strict: bool = False):
        self.strict = strict
        self.right: Counter = Counter()
        self.predicted: Counter = Counter()
        self.true: Counter = Counter()

    def add(self, true_tags: Sequence[str], predicted_tags: Sequence[str]):
        """Counts a sentence. An entity is right when type, first and last word are."""
        true = set(find_entities(true_tags, self.strict))
        predicted = set(find_entities(predicted_tags, self.strict))
        self.right.update(entity.type for entity in true & predicted)
        self.predicted.update(entity.type for entity in predicted)
        self.true.update(entity.type for entity in true)

    def of_types(self, types: Iterable[str]) -> tuple[int, int, int]:
        """(right, predicted, true) entities of these types together."""
        types = list(types)
        right, predicted, true = (
            sum(counts[kind] for kind in types) for counts in (self.right, self.predicted, self.true)
        )
        return right, predicted, true

    def overall(self) -> Scores:
        """Over the entities of all types together (the micro average)."""
        return scores_of(*self.of_types({*self.predicted, *self.true}))


def scores_of(right: int, predicted: int, true: int) -> Scores:
    """Precision, recall and F1 of counts."""
    return Scores(
        right / predicted if predicted else 0.0,
        right / true if true else 0.0,
        2 * right / (predicted + true) if predicted + true else 0.0,
    )
