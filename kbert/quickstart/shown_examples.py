"""The test passages whose answers the quickstart shows: one answered rightly, and one wrongly."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kbert.config import DatasetConfig
from kbert.input_pipelines.labelled_files import stream_rows


class ShownExample(NamedTuple):
    """A text, the label that it has, and whether the classifier's answer is this label."""

    text: str
    label: str
    is_right: bool


def shown_examples(
    classify: Callable[[list[str]], list[dict]], labelled_file: Path, dataset: DatasetConfig
) -> list[ShownExample]:
    """The first right and the first wrong answer, in the order of the file.

    Args:
      classify: texts -> answers, a `TextClassifier`.
      labelled_file: the file with texts and labels.
      dataset: names its columns.

    Returns:
      Two examples, the right one first; one alone where the classifier gets all right, or all wrong.
    """
    rows = list(stream_rows(labelled_file, dataset))
    answers = classify([row.text for row in rows])
    examples = [
        ShownExample(row.text, row.label, answer["label"] == row.label)
        for row, answer in zip(rows, answers, strict=True)
    ]
    chosen = (next((e for e in examples if e.is_right == right), None) for right in (True, False))
    return [example for example in chosen if example is not None]
