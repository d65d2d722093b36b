"""Pairs of a query with one of its texts: how well the texts of each query are ranked."""

import numpy as np

from kbert.input_pipelines.labelled_files import LabelledText
from kbert.tasks.ranking_scores import ranking_scores
from kbert.tasks.sequences.number_files import are_ranked

RANKED_SCORES = ("ndcg_at_10", "mrr_at_10", "accuracy_at_1")


def ranked_names(examples: list[LabelledText]) -> tuple[str, ...]:
    """Which of `RANKED_SCORES` the examples give."""
    return tuple(ranked_scores(examples, np.zeros(len(examples))))


def ranked_scores(examples: list[LabelledText], scores) -> dict[str, float]:
    """The means of `ranking_scores` over queries with several texts, where most examples are of such;
    otherwise none. Each is over the queries that a ranking can get wrong: nDCG over those whose texts have
    several gains, the others over those with a text that is relevant and one that is not.

    Equal queries are one query, with the texts of all its rows; of equal texts of a query the largest number
    counts, and numbers below 0 count as 0.

    Args:
      examples: pairs; the number of each is its gain.
      scores: float array (examples,).
    """
    if not are_ranked(examples):
        return {}
    queries: dict[str, dict[str | None, tuple[float, float]]] = {}
    for example, score in zip(examples, np.asarray(scores, np.float64).tolist(), strict=True):
        texts = queries.setdefault(example.text, {})
        gain, _ = texts.get(example.text_pair, (0.0, score))
        texts[example.text_pair] = max(gain, float(example.label)), score  # type: ignore[arg-type]
    every = [_query_scores(np.array([*texts.values()])) for texts in queries.values()]
    by_name = {name: [scores[name] for scores in every if name in scores] for name in RANKED_SCORES}
    return {name: float(np.mean(values)) for name, values in by_name.items() if values}


def _query_scores(texts):
    """Those of `RANKED_SCORES` that depend on the order of texts, float (texts, 2): gain and score."""
    gains, scores = texts[np.argsort(-texts[:, 1], kind="stable")].T
    if gains.min() == gains.max():
        return {}
    names = RANKED_SCORES[:1] if gains.all() else RANKED_SCORES
    scores_by_name = ranking_scores(scores, gains, gains[gains > 0])
    return {name: scores_by_name[name] for name in names}
