"""Which files and columns a task reads, known without TensorFlow: what is wrong in a file is told at once."""

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kbert.config import DatasetConfig
from kbert.files.json_values import shown
from kbert.input_pipelines.json_rows import MissingColumn, require_column
from kbert.input_pipelines.labelled_files import stream_records
from kbert.tasks import TASKS

# Name of a task -> where its `Files` are, or their class: `Task.files` is read from here, without TensorFlow.
_FILES = {
    "sequence_classification": "kbert.tasks.files.ONE_LABEL_FILES",
    "multi_label_classification": "kbert.tasks.files.SEVERAL_LABELS_FILES",
    "sequence_regression": "kbert.tasks.sequences.number_files.NumberFiles",
    "multiple_choice": "kbert.tasks.sequences.choice_files.ChoiceFiles",
    "cosine_similarity": "kbert.tasks.similarity.text_groups.ScoredPairFiles",
    "multiple_negatives_ranking": "kbert.tasks.similarity.text_groups.PositiveFiles",
    "sparse_embedding": "kbert.tasks.similarity.text_groups.TaughtFiles",
    "late_interaction": "kbert.tasks.similarity.text_groups.TaughtFiles",
    "question_answering": "kbert.tasks.question_answering.squad_files.SquadFiles",
    "token_classification": "kbert.tasks.token_classification.tagged_sentences.TaggedFiles",
}

# Inputs of which an example has one, and those of which it has a list.
ONE_TEXT, SEVERAL_TEXTS = ("text", "text_pair", "question", "context"), ("choices", "candidates")
_TEXT, PAIR = ("text",), ("text", "text_pair")
_MASKS = {"serving_default": _TEXT, "candidates": ("text", "candidates")}
_FOLLOWS = _MASKS | {"next_sentence": PAIR}
_VECTORS = {"serving_default": PAIR, "embedding": _TEXT}
_TOKEN_VECTORS = {"serving_default": PAIR, "document": _TEXT}


def _texts_or_pairs(takes_pairs):
    pairs = {"pair": PAIR} if takes_pairs is None else {}
    return {"serving_default": PAIR if takes_pairs else _TEXT} | pairs


# Name of a task -> its signatures that answer texts, with their inputs, by `takes_pairs` where it has that
# setting: `Serving` has them from here.
_SIGNATURES: dict[str, dict | Callable] = {
    "masked_lm": _MASKS,
    "pretraining": _FOLLOWS,
    "sentence_order": _FOLLOWS,
    "next_sentence": {"serving_default": PAIR},
    "sequence_classification": _texts_or_pairs,
    "multi_label_classification": _texts_or_pairs,
    "sequence_regression": _texts_or_pairs,
    "multiple_choice": {"serving_default": ("text", "choices")},
    "token_classification": {"serving_default": _TEXT},
    "question_answering": {"serving_default": ("question", "context")},
    "cosine_similarity": _VECTORS,
    "multiple_negatives_ranking": _VECTORS,
    "sparse_embedding": {"serving_default": _TEXT},
    "late_interaction": _TOKEN_VECTORS,
}
RAW_SCORES = "raw_scores"  # the setting of answers that an activation makes, see `Serving.raw_answer`
# Every task of kbert that answers texts takes one of these.
ANY_INPUTS = (_TEXT, ("text", "choices"), ("question", "context"))


def signature_inputs(task: str, takes_pairs: bool | None = None) -> tuple[tuple[str, ...], dict]:
    """(`inputs`, `other_inputs`) of the `Serving` of one of kbert's own tasks."""
    known = _SIGNATURES[task]
    others = dict(known(takes_pairs) if callable(known) else known)
    return others.pop("serving_default"), others


def task_inputs(task: str, task_config: dict) -> tuple[tuple[str, ...], ...]:
    """What a task answers: `inputs` and the values of `other_inputs` of its `Serving`.

    Args:
      task: the name of a task.
      task_config: as run.json records it.

    Returns:
      The inputs of each signature; () for a task that answers no texts, or is not known here.
    """
    if task not in _SIGNATURES:
        return ()
    inputs, others = signature_inputs(task, task_config.get("takes_pairs"))
    return inputs, *others.values()


def task_files(task: str):
    """The `Files` of a task, or None for one that reads no labelled files. The task is not imported if it is
    one of kbert's own."""
    if task not in _FILES:
        return TASKS[task].files
    module, _, name = _FILES[task].rpartition(".")
    files = getattr(importlib.import_module(module), name)
    return files() if isinstance(files, type) else files


def require_files(task: str):
    """The `Files` of a task. ValueError for one that reads no labelled files, and for an unknown one."""
    files = task_files(TASKS.require(task))
    if files is None:
        tasks = [name for name in TASKS if task_files(name)]
        raise ValueError(f"task={task!r} cannot be fine-tuned; choose one of {', '.join(tasks)}.")
    return files


def require_read(task: str, dataset: DatasetConfig, paths: Sequence[str | Path] = ()):
    """Refuses settings of a dataset that are not the defaults and that nothing reads, before new work begins.

    Args:
      task: the name of a task.
      dataset: how its labelled files are to be read.
      paths: these files; a setting is needed if one of them is read by it.

    Raises:
      ValueError: naming all of these settings and who reads them; and for a task that is not known.
    """
    files = task_files(TASKS.require(task))
    if files is None:
        return
    needless = [files.needless_settings(path, dataset) for path in paths]
    unread = {field.name: "" for field in dataclasses.fields(dataset)}
    for name in unread:
        if name not in files.settings:
            unread[name] = f"by {_readers(name)}"
        elif needless and all(name in names for names in needless):
            unread[name] = f"{needless[0][name]} only"
    _require_defaults(dataset, unread, f"{task} on {paths[0]}" if paths else task)


def _require_defaults(dataset, unread, reader):
    shown_settings = []
    for field in dataclasses.fields(dataset):
        value, why = getattr(dataset, field.name), unread[field.name]
        if why and value != field.default:
            value = list(value) if isinstance(value, tuple) else value
            shown_settings.append(f"dataset.{field.name}={shown(value)} (read {why})")
    if shown_settings:
        all_of_them = "it" if len(shown_settings) == 1 else "them"
        raise ValueError(
            f"the task {reader} would not read {', '.join(shown_settings)}; leave {all_of_them} out."
        )


def _readers(name):
    tasks = [task for task in _FILES if name in task_files(task).settings]
    return ", ".join(tasks) if len(tasks) <= 4 else "tasks on rows of columns"


class CheckedFile(NamedTuple):
    """What one reading of a labelled file says: the `DatasetConfig`, complete, and the number of examples."""

    dataset: DatasetConfig
    num_examples: int


def reads_without_tensorflow(task: str, path: str | Path, dataset: DatasetConfig) -> bool:
    """Whether a labelled file can be read without TensorFlow: files of kbert's tasks but for a few."""
    return task in _FILES and not task_files(task).needs_tensorflow(path, dataset)


def check_file(task: str, path: str | Path, dataset: DatasetConfig) -> CheckedFile | None:
    """Reads a labelled file once, to its end, so that all that is wrong in it is said before heavy work.

    Args:
      task: the name of a task.
      path: a labelled file.
      dataset: how it is read.

    Returns:
      None for a file that cannot be read without TensorFlow, which is not looked at.

    Raises:
      ValueError: as `Files.read_examples` and `Files.complete_dataset` do; a `MissingColumn` for a column
        that the task reads and the file does not have.
    """
    if not reads_without_tensorflow(task, path, dataset):
        return None
    files, number = task_files(task), 0

    def counted():
        nonlocal number
        for example in files.read_examples(path, dataset):
            number += 1
            yield example

    examples = counted()
    complete = files.complete_dataset(dataset, examples, path)
    for _ in examples:  # what is left where the dataset lists all labels
        pass
    return CheckedFile(complete, number)


def check_texts(task: str, path: str | Path, dataset: DatasetConfig):
    """As `check_file`; but classes are not looked at, of which a checkpoint says more than the dataset.

    Raises:
      ValueError: as `check_file` does.
    """
    several = task == "multi_label_classification"  # which may stand in columns of their own
    if not several and task != "sequence_classification":
        files = task_files(task)
        if "labels" not in files.settings or not reads_without_tensorflow(task, path, dataset):
            check_file(task, path, dataset)
            return
        for _ in files.read_examples(path, dataset):
            pass
        return
    for _ in stream_records(
        path, dataset, (dataset.text, dataset.text_pair, None if several else dataset.label)
    ):
        pass


def takes_either(task_config: Mapping) -> bool:
    """Whether a task takes a text or a pair, as nobody has said which: of a classifier of another library."""
    return "takes_pairs" in task_config and task_config["takes_pairs"] is None


def with_pairs(dataset: DatasetConfig, task_config: Mapping, path: str | Path) -> DatasetConfig:
    """The dataset with the second texts of a file that `holds_pairs`, for a task that `takes_either`."""
    if takes_either(task_config) and not dataset.text_pair and holds_pairs(path):
        return dataclasses.replace(dataset, text_pair="text_pair")
    return dataset


def holds_pairs(path: str | Path) -> bool:
    """Whether a labelled file has the column `text_pair` beside `text`: pairs, where no config names columns.

    Raises:
      ValueError: as `stream_records` does.
    """
    pairs = DatasetConfig(text_pair="text_pair")
    try:
        for where, record in stream_records(path, pairs, PAIR, with_labels=False):
            require_column(record, "text_pair", where)
            return True
    except MissingColumn:
        pass
    return False
