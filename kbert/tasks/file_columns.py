"""Which columns of a labelled file a task reads, known without TensorFlow: a wrong name is told at once."""

from collections.abc import Callable
from pathlib import Path

from kbert.config import DatasetConfig
from kbert.input_pipelines.labelled_files import require_column, stream_records


def _texts_and_label(dataset):
    return (dataset.text, dataset.text_pair, dataset.label)


def _choices_and_label(dataset):
    return (dataset.text, dataset.text_pair, *dataset.choices, dataset.label)


def _texts(dataset):
    return (dataset.text, dataset.text_pair)


# Name of a task -> the columns without which it refuses a labelled file. Tasks whose files have a form of
# their own (SQuAD's, CoNLL's) do not stand here.
_COLUMNS: dict[str, Callable[[DatasetConfig], tuple[str | None, ...]]] = {
    "sequence_classification": _texts_and_label,
    "multi_label_classification": _texts_and_label,
    "sequence_regression": _texts_and_label,
    "multiple_choice": _choices_and_label,
    "cosine_similarity": _texts_and_label,
    "multiple_negatives_ranking": _texts,  # a file without scores has no label
}


def require_columns(task: str, path: str | Path, dataset: DatasetConfig):
    """Reads the header and the first row of a labelled file; nothing heavy is imported.

    Of a table of several files it reads the first. A task that is not known here is asked nothing.

    Args:
      task: the name of a task.
      path: a labelled file, as for `stream_records`.
      dataset: names its columns.

    Raises:
      ValueError: for a column that the task reads and the file does not have, and as `stream_records` does.
    """
    if task not in _COLUMNS:
        return
    columns = [column for column in _COLUMNS[task](dataset) if column]
    for place, record in stream_records(path, dataset, columns):
        for column in columns:
            require_column(record, column, place)
        return
