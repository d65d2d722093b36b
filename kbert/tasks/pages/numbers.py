"""Sections for tasks that answer with a number."""

import numpy as np

from kbert.tasks.pages.by_length import by_length
from kbert.tasks.pages.content import Card, Cards, Fact, Scatter, Section
from kbert.tasks.pages.labels import marked_texts

MOST_POINTS = 2000  # of a scatter plot: more would only lie on one another


def number_sections(examples, given, true, num_tokens, most_examples: int) -> list[Section]:
    """A scatter plot, the mean error by length, and the largest errors.

    Args:
      examples: `LabelledText`s; None where there are only features.
      given, true: float arrays of shape (examples,).
      num_tokens: int array of shape (examples,).
      most_examples: how many errors to show.
    """
    given, true = (np.asarray(values, np.float64) for values in (given, true))
    errors = np.abs(given - true)
    sections = [
        _scatter(given, true),
        by_length(num_tokens, errors, "token", "Mean absolute error", "{:.3f}".format),
    ]
    if examples is None:
        return sections
    places = np.argsort(-errors, kind="stable")[:most_examples]
    cards = [
        Card(
            marked_texts(examples[place]),
            (
                Fact("right", f"{true[place]:.4g}", True),
                Fact("given", f"{given[place]:.4g}", False),
                Fact("apart", f"{errors[place]:.4g}"),
            ),
        )
        for place in places.tolist()
    ]
    note = f"Of {len(errors):,} answers the {len(cards):,} that are farthest from the right number."
    return [*sections, Section("The largest errors", note, Cards(cards))]


def _scatter(given, true):
    note = "A point for each example; on the dashed line the answer is the right number."
    kept = np.arange(len(given))
    if len(kept) > MOST_POINTS:
        kept = np.linspace(0, len(given) - 1, MOST_POINTS).astype(int)
        note += f" {MOST_POINTS:,} of {len(given):,} examples, evenly over the file."
    points = list(zip(true[kept].tolist(), given[kept].tolist(), strict=True))
    return Section("Right and given", note, Scatter(points, "right", "given"))
