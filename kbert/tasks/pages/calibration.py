"""Whether a model is right as often as it is sure: the reliability diagram and the calibration error."""

import numpy as np

from kbert.tasks.pages.content import Reliability, Section

NUM_BINS = 15  # M; arXiv 1706.04599, section 5


def reliability(confidences, is_right) -> Reliability:
    """Answers in bins of equal width by their confidence.

    Bin m of M holds the confidences in ((m - 1) / M, m / M], and 0 is in the first.

    Args:
      confidences: float array of shape (answers,): the probability of the answer that was given.
      is_right: array of shape (answers,): 1 or True where the answer is right.

    Reference: arXiv 1706.04599 (Guo et al., 2017), section 2.
    """
    confidences, is_right = np.asarray(confidences, np.float64), np.asarray(is_right, np.float64)
    bins = np.clip(np.ceil(confidences * NUM_BINS).astype(int) - 1, 0, NUM_BINS - 1)
    counts = np.bincount(bins, minlength=NUM_BINS)
    sums = (np.bincount(bins, weights=values, minlength=NUM_BINS) for values in (confidences, is_right))
    sure, right = (total / np.maximum(counts, 1) for total in sums)
    return Reliability(sure.tolist(), right.tolist(), counts.tolist())


def expected_calibration_error(bins: Reliability) -> float:
    """The mean over all answers of |accuracy - confidence| of their bin, from 0 to 1.

    Reference: arXiv 1706.04599, equation 3; it is 0 where there is no answer.
    """
    counts = np.asarray(bins.counts, np.float64)
    gaps = np.abs(np.subtract(bins.accuracies, bins.confidences))
    return float((counts * gaps).sum() / max(counts.sum(), 1.0))


def calibration_section(confidences, is_right, subject: str) -> Section:
    """The section of a page.

    Args:
      confidences, is_right: see `reliability`.
      subject: what has a confidence, for the note.
    """
    bins = reliability(confidences, is_right)
    error = expected_calibration_error(bins)
    sure, right = float(np.mean(confidences)), float(np.mean(is_right))
    note = (
        f"Expected calibration error {100 * error:.1f}%: by how much confidence and accuracy differ, on "
        f"average over {len(bins.counts)} bins of equal width (Guo et al., 2017, arXiv 1706.04599, equation "
        f"3). The confidence is the probability of {subject}: {100 * sure:.1f}% on average, where "
        f"{100 * right:.1f}% are right. "
        "Orange reaches from accuracy up to confidence where a bin is too sure, green from confidence up to "
        "accuracy where it is not sure enough. Point at a bin to read its numbers."
    )
    return Section("Calibration", note, bins)
