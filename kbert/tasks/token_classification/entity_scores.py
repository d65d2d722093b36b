"""Rows of an evaluation -> sentences -> entities: precision, recall and F1 over them."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kbert.tasks.label_scores import Scores, precision_recall_f1
from kbert.tasks.token_classification.tag_schemes import scheme_of_labels, split_tag


class Entity(NamedTuple):
    """An entity of a sentence: its `type`, its first word, and the word after its last."""

    type: str
    start: int
    end: int


def find_entities(tags: Sequence[str], strict: bool = False, with_ends: bool = False) -> list[Entity]:
    """The entities of a sentence in IOB2, IOB1 or BIOES.

    Args:
      tags: the sentence's, which a model may have put in any order.
      strict: an entity is what begins with B or S. Otherwise, as in the official conlleval, it also begins
        with an I or E that follows O, another type, or an end (E or S): I-PER after O is a whole entity, and
        B-PER I-LOC are two, as are S-PER E-PER.
      with_ends: an entity is what ends with E or S: B-PER O is none.

    Reference: conlleval.pl of CoNLL-2000, which is the default mode of seqeval; with `strict` seqeval's
    `mode="strict", scheme=IOB2`, and with both `scheme=IOBES`.
    """
    entities, start, current, has_ended = [], 0, "", False
    for index, tag in enumerate([*tags, "O"]):
        prefix, kind = split_tag(tag)
        if current and (has_ended or prefix in "BS" or kind != current):
            if has_ended or not with_ends:
                entities.append(Entity(current, start, index))
            current = ""
        if not current and (prefix in "BS" or (prefix in "IE" and not strict)):
            start, current = index, kind
        has_ended = prefix in "ES"
    return entities


class EntityCounts:
    """How many entities were right, predicted and true, for each type.

    Args:
      strict, with_ends: see `find_entities`.

    Attributes:
      right, predicted, true: type -> number.
    """

    def __init__(self, strict: bool = False, with_ends: bool = False):
        self._find = functools.partial(find_entities, strict=strict, with_ends=with_ends)
        self.right: Counter = Counter()
        self.predicted: Counter = Counter()
        self.true: Counter = Counter()

    def add(self, true_tags: Sequence[str], predicted_tags: Sequence[str]):
        """Counts a sentence. An entity is right when type, first and last word are."""
        true, predicted = set(self._find(true_tags)), set(self._find(predicted_tags))
        self.right.update(entity.type for entity in true & predicted)
        self.predicted.update(entity.type for entity in predicted)
        self.true.update(entity.type for entity in true)

    def totals(self, types: Iterable[str]) -> tuple[int, int, int]:
        """(right, predicted, true) entities of these types together."""
        types = list(types)
        right, predicted, true = (
            sum(counts[kind] for kind in types) for counts in (self.right, self.predicted, self.true)
        )
        return right, predicted, true

    def overall(self) -> Scores:
        """Over the entities of all types together (the micro average)."""
        return precision_recall_f1(*self.totals({*self.predicted, *self.true}))


def sentences_from_rows(label_ids, word_ids, predicted_ids) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields (true label ids, predicted label ids) of the words of each sentence.

    Rows of a sentence follow each other, and its words count up from 0 through them.

    Args:
      label_ids, word_ids, predicted_ids: int arrays of shape (rows, seq_length); only the positions with a
        word id of 0 or more count.
    """
    rows, positions = np.nonzero(word_ids >= 0)
    words = word_ids[rows, positions]
    order = np.lexsort((words, np.cumsum(words == 0)))
    ends = np.flatnonzero(np.diff(words[order]) != 1) + 1
    true, predicted = (values[rows, positions][order] for values in (label_ids, predicted_ids))
    return zip(np.split(true, ends), np.split(predicted, ends), strict=True)


def entity_metrics(
    sentences: Iterable[tuple[np.ndarray, np.ndarray]], tags: Sequence[str], types: Sequence[str]
) -> dict:
    """Metrics over the entities of all sentences.

    Args:
      sentences: of `sentences_from_rows`.
      tags: the tag of each label id, with BIOES's letters.
      types: the types of entities.

    Returns:
      `precision`, `recall` and `f1`; the same with `strict_` in front, which asks for an end too where
      labels have it, but for labels of IOB1 and IOE2, where a beginning is no tag of its own; and
      `entity_counts`: for each of `types` how many entities were right, predicted and true.
    """
    prefixes = {split_tag(tag)[0] for tag in tags}
    usual, strict = EntityCounts(), EntityCounts(strict=True, with_ends="E" in prefixes)
    for true, predicted in sentences:
        true_tags, predicted_tags = ([tags[index] for index in ids] for ids in (true, predicted))
        usual.add(true_tags, predicted_tags)
        strict.add(true_tags, predicted_tags)
    metrics = dict(usual.overall()._asdict())
    if prefixes & {"B", "S"} and scheme_of_labels(tags) != "iob1":
        metrics |= {f"strict_{name}": value for name, value in strict.overall()._asdict().items()}
    return metrics | {"entity_counts": [list(usual.totals([kind])) for kind in types]}
