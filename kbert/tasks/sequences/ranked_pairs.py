"""Pairs of a query with one of its texts: how well the texts of each query are ranked."""

import numpy as np

from kbert.input_pipelines.labelled_files import LabelledText
from kbert.tasks.ranking_scores import means, ranking_scores
from kbert.tasks.sequences.number_files import are_ranked

RANKED_SCORES = ("ndcg_at_10", "mrr_at_10", "accuracy_at_1")


def ranked_names(examples: list[LabelledText]) -> tuple[str, ...]:
    """Which of `RANKED_SCORES` the examples give: all but nDCG ask for texts that are not relevant."""
    if not are_ranked(examples):
        return ()
    is_graded = all(example.label > 0 for example in examples)  # type: ignore[operator]
    return RANKED_SCORES[:1] if is_graded else RANKED_SCORES


def ranked_scores(examples: list[LabelledText], scores) -> dict[str, float]:
    """The means of `ranking_scores` over all queries with several texts, where most examples are of such;
    otherwise none. Without a text whose number is 0 nDCG alone, as each text would be a hit.

    Equal queries are one query, with the texts of all its rows; of equal texts of a query the largest number
    counts, and numbers below 0 count as 0. A query for which no text has a number above 0 is left out.

    Args:
      examples: pairs; the number of each is its gain.
      scores: float array (examples,).
    """
    if not (names := ranked_names(examples)):
        return {}
    queries: dict[str, dict[str | None, tuple[float, float]]] = {}
    for example, score in zip(examples, np.asarray(scores, np.float64).tolist(), strict=True):
        texts = queries.setdefault(example.text, {})
        gain, _ = texts.get(example.text_pair, (0.0, score))
        texts[example.text_pair] = max(gain, float(example.label)), score  # type: ignore[arg-type]
    every = [_query_scores(np.array([*texts.values()])) for texts in queries.values() if len(texts) > 1]
    every = [scores for scores in every if scores]
    return {name: value for name, value in means(every).items() if name in names} if every else {}


def _query_scores(texts):
    """`ranking_scores` of texts, float (texts, 2): gain and score; None where none has a gain."""
    gains, scores = texts[np.argsort(-texts[:, 1], kind="stable")].T
    return ranking_scores(scores, gains, gains[gains > 0]) if gains.any() else None
