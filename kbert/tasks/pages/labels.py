"""Sections for tasks that give labels to a text or a pair: one label, or several."""

from collections.abc import Sequence

import numpy as np

from kbert.tasks.pages.by_length import by_length
from kbert.tasks.pages.calibration import calibration_section
from kbert.tasks.pages.content import (
    Card,
    Cards,
    Counts,
    Fact,
    MarkedText,
    Numbers,
    Section,
    excerpt,
)

MOST_NAMES = 25  # rows of a confusion matrix that a person can read
MOST_ROWS = 200  # of a table of labels


def confusion_section(names: Sequence[str], counts, unit: str) -> Section:
    """A confusion matrix; of very many labels those that are most often true or predicted.

    Args:
      names: the names of the labels.
      counts: array of shape (labels, labels): rows true, columns predicted.
      unit: what is counted, for example "examples".
    """
    counts, note = (
        np.asarray(counts),
        f"How many {unit}: a row for each true label, a column for each predicted one.",
    )
    if len(names) > MOST_NAMES:
        totals = counts.sum(axis=0) + counts.sum(axis=1)
        kept = np.sort(np.argsort(-totals, kind="stable")[:MOST_NAMES])
        counts, names = counts[np.ix_(kept, kept)], [names[index] for index in kept]
        note += f" Of {len(totals)} labels these {MOST_NAMES} are the most frequent; the others are left out."
    return Section("Confusion", note, Counts(tuple(map(str, names)), counts.astype(int).tolist()))


def scores_by_label(names: Sequence[str], right, predicted, true) -> Section:
    """Precision, recall and F1 of each label, the most frequent first where they are many.

    Args:
      names: the names of the labels.
      right, predicted, true: int arrays of shape (labels,): how often a label was rightly given, given at
        all, and true.
    """
    right, predicted, true = (np.asarray(values, np.float64) for values in (right, predicted, true))
    kept = np.arange(len(names))
    if len(names) > MOST_ROWS:
        kept = np.argsort(-true, kind="stable")[:MOST_ROWS]
    rows = [
        (
            str(names[index]),
            _percent(right[index], predicted[index]),
            _percent(right[index], true[index]),
            _percent(2 * right[index], predicted[index] + true[index]),
            f"{int(predicted[index]):,}",
            f"{int(true[index]):,}",
        )
        for index in kept
    ]
    note = (
        "Precision: the share of a label's predictions that are right; recall: the share of its true cases "
        "that are predicted."
    )
    if len(kept) < len(names):
        note += f" The {len(kept)} most frequent of {len(names)} labels."
    heads = ("label", "precision", "recall", "F1", "predicted", "true")
    return Section("Label by label", note, Numbers(heads, rows))


def one_label_sections(labels, examples, predictions, most_examples: int, predicted) -> list[Section]:
    """Calibration, accuracy by length, and the most confident wrong answers.

    Args:
      labels: the names of the labels.
      examples: `LabelledText`s; None where there are only features.
      predictions: `Predictions` with `probabilities` (rows, labels), `label_ids` and `num_tokens` (rows,).
      most_examples: how many wrong answers to show.
      predicted: int array of shape (rows,), the ids of the given labels.
    """
    probabilities, true = predictions.values["probabilities"], predictions.values["label_ids"]
    sure, is_right = probabilities[np.arange(len(predicted)), predicted], predicted == true
    sections = accuracy_sections(predictions, "the most probable label", is_right)
    if examples is None:
        return sections

    def facts(index):
        label, chosen = true[index], predicted[index]
        return (
            Fact("right", str(labels[label]), True),
            Fact("predicted", f"{labels[chosen]}, {sure[index]:.1%}", False),
            Fact("probability of the right one", f"{probabilities[index, label]:.1%}"),
        )

    return [*sections, worst_section(examples, sure, is_right, facts, most_examples)]


def most_probable(predictions):
    """(index, probability, whether it is right) of the most probable answer in each row.

    Args:
      predictions: `Predictions` with `probabilities` (rows, answers) and `label_ids` (rows,).
    """
    probabilities = predictions.values["probabilities"]
    predicted = probabilities.argmax(axis=-1)
    return predicted, probabilities.max(axis=-1), predicted == predictions.values["label_ids"]


def accuracy_sections(predictions, subject: str, is_predicted_right=None) -> list[Section]:
    """Calibration of the most probable answers, and accuracy by length of the given ones.

    Args:
      predictions: as for `most_probable`, and with `num_tokens` (rows,).
      subject: what has the probability, for example "the predicted choice".
      is_predicted_right: bool array of shape (rows,); None where the most probable answers are given.
    """
    _, sure, is_right = most_probable(predictions)
    accurate = is_right if is_predicted_right is None else is_predicted_right
    return [
        calibration_section(sure, is_right, subject),
        by_length(predictions.values["num_tokens"], accurate, "token", "Accuracy"),
    ]


def several_labels_sections(labels, predicted, examples, predictions, most_examples: int) -> list[Section]:
    """Calibration of all decisions, exact answers by length, the most confident errors.

    Args:
      labels: the names of the labels.
      predicted: bool array of shape (rows, labels), which labels are given.
      examples, predictions, most_examples: as for `one_label_sections`; `label_ids` is (rows, labels).
    """
    probabilities = predictions.values["probabilities"]
    true = predictions.values["label_ids"].astype(bool)
    predicted = np.asarray(predicted, bool)
    wrong = predicted != true
    sure = np.where(predicted, probabilities, 1.0 - probabilities)
    likely = np.maximum(probabilities, 1.0 - probabilities)
    likely_right = (probabilities >= 0.5) == true
    is_right = ~wrong.any(axis=1)
    sections = [
        calibration_section(
            likely.ravel(),
            likely_right.ravel(),
            "the more probable: that a text has a label, or not",
        ),
        by_length(
            predictions.values["num_tokens"], is_right, "token", "Examples with exactly the right labels"
        ),
    ]
    if examples is None:
        return sections

    def named(has_label):
        return ", ".join(str(label) for label, has in zip(labels, has_label, strict=True) if has) or "(none)"

    def facts(index):
        worst = int(np.argmax(np.where(wrong[index], sure[index], -1.0)))
        decision = "predicted" if predicted[index, worst] else "not predicted"
        return (
            Fact("right", named(true[index]), True),
            Fact("predicted", named(predicted[index]), False),
            Fact("worst", f"{labels[worst]}, {decision} with {sure[index, worst]:.1%}"),
        )

    confidence = np.where(wrong, sure, 0.0).max(axis=1)
    return [*sections, worst_section(examples, confidence, is_right, facts, most_examples)]


def worst_section(examples, confidences, is_right, facts, most_examples: int) -> Section:
    """The wrong answers that were given with the most confidence.

    Args:
      examples: `LabelledText`s.
      confidences: float array of shape (examples,).
      is_right: bool array of shape (examples,).
      facts: function from the index of an example to its `Fact`s.
      most_examples: how many to show.
    """
    indices = worst_indices(confidences, is_right, most_examples)
    cards = [Card(marked_texts(examples[index]), facts(index)) for index in indices]
    return Section("The most confident errors", worst_note(is_right, len(cards)), Cards(cards))


def worst_indices(badness, is_right, most: int) -> list[int]:
    """The indices of wrong answers by falling `badness`, at most `most`; equals in the order of the file."""
    wrong = np.flatnonzero(~np.asarray(is_right, bool))
    order = np.argsort(-np.asarray(badness)[wrong], kind="stable")
    return wrong[order][:most].tolist()


def worst_note(is_right, shown: int) -> str:
    """How many answers are wrong, and how many of them are shown."""
    wrong = int((~np.asarray(is_right, bool)).sum())
    if not wrong:
        return f"None of {len(is_right):,} predictions is wrong."
    return (
        f"{wrong:,} of {len(is_right):,} predictions are wrong; here are {shown:,}, the most confident first."
    )


def marked_texts(example) -> tuple[MarkedText, ...]:
    """The text of a `LabelledText`, or both of a pair."""
    if example.text_pair is None:
        return (excerpt(MarkedText("", example.text)),)
    return (
        excerpt(MarkedText("first", example.text)),
        excerpt(MarkedText("second", example.text_pair)),
    )


def _percent(part, whole):
    return f"{100 * part / whole:.1f}%" if whole else "–"
