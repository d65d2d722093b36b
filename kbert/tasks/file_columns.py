"""Which columns of a file a task reads, known without TensorFlow: a wrong name is told at once."""

from collections.abc import Callable
from pathlib import Path

from kbert.config import DatasetConfig
from kbert.input_pipelines.data_files import reading_dataset
from kbert.input_pipelines.labelled_files import require_column, stream_records

_TEXTS = ("text", "text_pair")

# Name of a task -> the fields of a `DatasetConfig` with the columns without which it refuses a labelled file.
# Tasks whose files have a form of their own (SQuAD's, CoNLL's) do not stand here.
_COLUMNS = {
    "sequence_classification": (*_TEXTS, "label"),
    "multi_label_classification": (*_TEXTS, "label"),
    "sequence_regression": (*_TEXTS, "label"),
    "multiple_choice": (*_TEXTS, "choices", "label"),
    "cosine_similarity": (*_TEXTS, "label"),
    "multiple_negatives_ranking": _TEXTS,  # a file without scores has no label
}

_TEXT, _PAIR, _CANDIDATES = ("text",), _TEXTS, ("text", "candidates")


def _texts_or_pairs(task_config):
    takes_pairs = task_config.get("takes_pairs")
    return (_TEXT, _PAIR) if takes_pairs is None else (_PAIR,) if takes_pairs else (_TEXT,)


# Name of a task -> the inputs of each of its signatures that answer texts: those of "serving_default" first.
_INPUTS: dict[str, Callable[[dict], tuple[tuple[str, ...], ...]]] = {
    "masked_lm": lambda _: (_TEXT, _CANDIDATES),
    "pretraining": lambda _: (_TEXT, _CANDIDATES, _PAIR),
    "sentence_order": lambda _: (_TEXT, _CANDIDATES, _PAIR),
    "next_sentence": lambda _: (_PAIR,),
    "sequence_classification": _texts_or_pairs,
    "multi_label_classification": _texts_or_pairs,
    "sequence_regression": _texts_or_pairs,
    "multiple_choice": lambda _: (("text", "choices"),),
    "token_classification": lambda _: (_TEXT,),
    "question_answering": lambda _: (("question", "context"),),
    "cosine_similarity": lambda _: (_PAIR, _TEXT),
    "multiple_negatives_ranking": lambda _: (_PAIR, _TEXT),
}
# Every task of kbert that answers texts takes at least one of these.
ALWAYS_TAKEN = (_TEXT, ("question", "context"))


def task_inputs(task: str, task_config: dict) -> tuple[tuple[str, ...], ...]:
    """What a task answers: `inputs` and the values of `other_inputs` of the `Task`.

    Args:
      task: the name of a task.
      task_config: as run.json records it.

    Returns:
      The inputs of each signature; () for a task that answers no texts, or is not known here.
    """
    return _INPUTS[task](task_config) if task in _INPUTS else ()


def task_columns(task: str, dataset: DatasetConfig) -> list[str]:
    """The columns without which a task refuses a labelled file; none for a task that is not known here."""
    columns = []
    for field in _COLUMNS.get(task, ()):
        value = getattr(dataset, field)
        columns += value if isinstance(value, tuple) else [value] if value else []
    return columns


def require_columns(task: str, path: str | Path, dataset: DatasetConfig):
    """Reads the header and the first row of a labelled file; nothing heavy is imported.

    Of a table of several files it reads the first. A task that is not known here is asked nothing.

    Args:
      task: the name of a task.
      path: a labelled file, as for `stream_records`.
      dataset: names its columns.

    Raises:
      ValueError: a `MissingColumn` for a column that the task reads and the file does not have, and as
        `stream_records` does.
    """
    columns = task_columns(task, dataset)
    if not columns:
        return
    for where, record in stream_records(path, reading_dataset(path, dataset), columns):
        for column in columns:
            require_column(record, column, where)
        return
