"""Sections for tasks that answer with a number."""

import numpy as np

from kbert.tasks.pages.by_length import by_length
from kbert.tasks.pages.content import Card, Cards, Fact, Scatter, Section
from kbert.tasks.pages.labels import marked_texts

MOST_POINTS = 2000  # of a scatter plot: more would only lie on one another


def number_sections(
    examples, predicted, true, num_tokens, most_examples: int, scale: str = ""
) -> list[Section]:
    """A scatter plot, the mean error by length, and the largest errors.

    Args:
      examples: `LabelledText`s; None where there are only features.
      predicted, true: float arrays of shape (examples,).
      num_tokens: int array of shape (examples,).
      most_examples: how many errors to show.
      scale: a sentence, after a blank, on numbers that are not those of the file.
    """
    predicted, true = (np.asarray(values, np.float64) for values in (predicted, true))
    errors = np.abs(predicted - true)
    sections = [
        _scatter(predicted, true, scale),
        by_length(num_tokens, errors, "token", "Mean absolute error", "{:.3f}".format),
    ]
    if examples is None:
        return sections
    indices = np.argsort(-errors, kind="stable")[:most_examples]
    cards = [
        Card(
            marked_texts(examples[index]),
            (
                Fact("right", f"{true[index]:.4g}", True),
                Fact("predicted", f"{predicted[index]:.4g}", False),
                Fact("apart", f"{errors[index]:.4g}"),
            ),
        )
        for index in indices.tolist()
    ]
    note = f"Of {len(errors):,} predictions the {len(cards):,} farthest from the right number.{scale}"
    return [*sections, Section("The largest errors", note, Cards(cards))]


def _scatter(predicted, true, scale):
    note = f"A point for each example; on the dashed line the prediction is the right number.{scale}"
    kept = np.arange(len(predicted))
    if len(kept) > MOST_POINTS:
        kept = np.linspace(0, len(predicted) - 1, MOST_POINTS).astype(int)
        note += f" {MOST_POINTS:,} of {len(predicted):,} examples, evenly over the file."
    points = list(zip(true[kept].tolist(), predicted[kept].tolist(), strict=True))
    return Section("Right and predicted", note, Scatter(points, "right", "predicted"))
