"""The texts whose answers a quickstart shows: some that are answered rightly, and some wrongly."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

from kbert.input_pipelines.labelled_files import LabelledText


class ShownExample(NamedTuple):
    """A text, the label that it has, the classifier's answer, and whether the two are the same."""

    text: str
    label: str
    answer: str
    is_right: bool


def shown_examples(
    classify: Callable[[list[str]], list[dict]], examples: Iterable[LabelledText], each: int = 1
) -> list[ShownExample]:
    """The first right and the first wrong answers, in the order of the examples.

    Args:
      classify: texts -> answers, a `TextClassifier`.
      examples: labelled texts that the classifier was not trained on.
      each: how many of either kind.

    Returns:
      The right ones first; fewer of a kind where there are fewer.
    """
    rows = list(examples)
    answers = [answer["label"] for answer in classify([row.text for row in rows])]
    shown = [
        ShownExample(row.text, str(row.label), answer, answer == row.label)
        for row, answer in zip(rows, answers, strict=True)
    ]
    return [
        example
        for right in (True, False)
        for example in islice((e for e in shown if e.is_right == right), each)
    ]
