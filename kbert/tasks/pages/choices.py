"""Sections for multiple choice."""

import numpy as np

from kbert.tasks.pages.content import Card, Cards, Fact, Mark, MarkedText, Section, excerpt, shortened
from kbert.tasks.pages.labels import accuracy_sections, most_probable, note_of_worst, worst_places


def choice_sections(examples, predictions, most_examples: int) -> list[Section]:
    """Calibration, accuracy by length, and the most confident errors with all their choices.

    Args:
      examples: `Choices`; None where there are only features.
      predictions: `Predictions` with `probabilities` (rows, choices), `label_ids` and `num_tokens` (rows,).
      most_examples: how many errors to show.
    """
    probabilities = predictions.values["probabilities"]
    given, sure, is_right = most_probable(predictions)
    sections = accuracy_sections(predictions, "the given choice")
    if examples is None:
        return sections
    places = worst_places(sure, is_right, most_examples)
    cards = [_card(examples[place], int(given[place]), probabilities[place]) for place in places]
    return [
        *sections,
        Section("The most confident errors", note_of_worst(is_right, len(cards)), Cards(cards)),
    ]


def _card(example, given, probabilities):
    texts = [excerpt(MarkedText("", example.text))]
    for place, choice in enumerate(example.choices):
        kind = "right" if place == example.label else "wrong" if place == given else None
        text = shortened(choice)
        marks = (Mark(0, len(text), kind),) if kind and text else ()
        texts.append(MarkedText(f"{place}, {probabilities[place]:.1%}", text, marks))
    facts = (
        Fact("right", str(example.label), True),
        Fact("given", f"{given}, {np.max(probabilities):.1%}", False),
    )
    return Card(tuple(texts), facts)
