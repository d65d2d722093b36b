"""How well queries find their positives among all texts of an evaluation, in NumPy."""

import numpy as np

from kbert.tasks.correlations import correlations

_QUERIES_AT_ONCE = 512
# Equal texts have equal cosines but for rounding, which depends on the batches that they stood in.
_TIE = 1e-6


def embedding_scores(embeddings: np.ndarray, targets: np.ndarray) -> dict[str, float]:
    """`retrieval_scores` of rows without a score; `pearson` and `spearman` of rows with one.

    Args:
      embeddings: float array of shape (rows, texts, width).
      targets: float array of shape (rows,): the scores, NaN where a row has none.
    """
    ranked, scores = np.isnan(targets), {}
    if ranked.any():
        scores |= retrieval_scores(embeddings[ranked])
    if not ranked.all():
        first, second = (embeddings[~ranked, index].astype(np.float64) for index in (0, 1))
        norms = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
        scores |= correlations(np.sum(first * second, axis=-1) / norms, targets[~ranked])
    return scores


def retrieval_scores(texts: np.ndarray) -> dict[str, float]:
    """Ranks for each query all positives and negatives of the evaluation by their cosine.

    Args:
      texts: float array of shape (rows, texts, width): query, positive, negatives.

    Returns:
      `accuracy_at_1`, the share of queries whose own positive comes first; `mrr`, the mean of 1 / its rank;
      and with negatives `triplet_accuracy`, the share of negatives that are less similar to their query than
      its positive. Candidates as similar as the positive (to 1e-6) share their ranks at random: what is
      returned is the expected value. So a model that gives all texts the same vector gains nothing.
    """
    texts = texts / np.maximum(np.linalg.norm(texts, axis=-1, keepdims=True), 1e-12)
    candidates = texts[:, 1:].transpose(1, 0, 2).reshape(-1, texts.shape[-1])  # positives first
    right = np.sum(texts[:, 0] * texts[:, 1], axis=-1)
    above, ties = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    for start in range(0, len(texts), _QUERIES_AT_ONCE):
        queries = slice(start, start + _QUERIES_AT_ONCE)
        differences = texts[queries, 0] @ candidates.T - right[queries, None]
        rows = np.arange(len(differences))
        differences[rows, start + rows] = -np.inf  # the positive itself
        above[queries] = (differences > _TIE).sum(axis=1)
        ties[queries] = (np.abs(differences) <= _TIE).sum(axis=1)
    scores = {
        "accuracy_at_1": float(np.mean((above == 0) / (1 + ties))),
        "mrr": float(np.mean([*map(_mean_inverse, above.tolist(), ties.tolist())])),
    }
    if texts.shape[1] > 2:
        wrong = np.einsum("rw,rnw->rn", texts[:, 0], texts[:, 2:])
        gaps = right[:, None] - wrong
        scores["triplet_accuracy"] = float(np.mean((gaps > _TIE) + 0.5 * (np.abs(gaps) <= _TIE)))
    return scores


def _mean_inverse(above: int, ties: int) -> float:
    """The mean of 1 / rank over the ranks above + 1 to above + 1 + ties."""
    return float(np.mean(1.0 / np.arange(above + 1, above + 2 + ties)))
