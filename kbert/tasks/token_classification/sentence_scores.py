"""Rows of an evaluation -> sentences -> metrics over entities, and the table that a person reads."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kbert.tasks.token_classification.entity_scores import EntityCounts, scores_of


def sentences_of_rows(label_ids, word_ids, predicted_ids) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields (true label ids, predicted label ids) of the words of each sentence.

    Rows of a sentence follow each other, and its words count up from 0 through them.

    Args:
      label_ids, word_ids, predicted_ids: int arrays of shape (rows, seq_length); only the places with a word
        id of 0 or more count.
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
      sentences: of `sentences_of_rows`.
      tags: the tag in IOB2 of each label id.
      types: the types of entities.

    Returns:
      `precision`, `recall` and `f1`; the same with `strict_` in front; and `entity_counts`: for each of
      `types` how many entities were right, predicted and true.
    """
    usual, strict = EntityCounts(), EntityCounts(strict=True)
    for true, predicted in sentences:
        true_tags, predicted_tags = ([tags[index] for index in ids] for ids in (true, predicted))
        usual.add(true_tags, predicted_tags)
        strict.add(true_tags, predicted_tags)
    metrics = dict(usual.overall()._asdict())
    metrics |= {f"strict_{name}": value for name, value in strict.overall()._asdict().items()}
    return metrics | {"entity_counts": [list(usual.of_types([kind])) for kind in types]}


def table_of_types(types: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """Scores of each type and of all, a line for each.

    Args:
      types: the types of entities.
      counts: right, predicted and true entities of each.
    """
    width = max(map(len, (*types, "entities")))
    lines = [f"{'entities':{width}}  precision  recall     f1  true"]
    total = [sum(column) for column in zip(*counts, strict=True)]
    for kind, (right, predicted, true) in zip((*types, "all"), (*counts, total), strict=True):
        precision, recall, f1 = scores_of(right, predicted, true)
        lines.append(f"{kind:{width}}  {precision:9.3f}  {recall:6.3f}  {f1:.3f}  {true:4d}")
    return "\n".join(lines)
