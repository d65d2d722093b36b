"""Whether a file has the columns that a run reads, without TensorFlow: a wrong one is refused at once.

A run that is broken, or of a task of the user's own, is not checked here; what opens it says what is wrong.
"""

from pathlib import Path

from kbert.config import DatasetConfig, FinetuningConfig, from_dict
from kbert.files.json_file import read_json_object
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.input_pipelines.tables.table_paths import source_files
from kbert.input_pipelines.unlabelled_files import (
    count_rows,
    examples_of_file,
    has_rows,
    with_checked_texts,
)
from kbert.runs.run_file import RUN_FILE, holds_run, require_no_config
from kbert.tasks import TASKS
from kbert.tasks.file_columns import (
    ANY_INPUTS,
    check_file,
    check_texts,
    require_read,
    task_files,
    task_inputs,
    with_pairs,
)


def require_columns_of_model(path, run_dir, config: FinetuningConfig | None = None):
    """Refuses a labelled file that cannot be read as the config or, without a config, the run says.

    Args:
      path: the labelled file, as for `stream_records`.
      run_dir: the run directory; for any other path without a config nothing is checked.
      config: how the file is read for a checkpoint that does not record it.

    Raises:
      ValueError: when the file is missing, lacks a column, or has rows that cannot be read; with a config
        labels are not looked at where they are the checkpoint's. For a config of a run.
    """
    require_no_config(run_dir, config)
    if config is not None:
        require_read(config.task, config.dataset, [path])
        check_texts(config.task, path, config.dataset)
        return
    task, task_config, dataset = _recorded_task(run_dir)
    if task is None:
        return
    source_files(path)  # raises where there is nothing to read
    try:
        check_file(task, path, with_pairs(dataset, task_config, path))
    except MissingColumn as error:
        missing = "that" if error.column is None else repr(error.column)
        advice = f"The run {run_dir} was trained on files with {missing}; rename your column."
        raise ValueError(str(MissingColumn(error.what, advice))) from None


def count_inputs_of_run(path, run_dir) -> int:
    """Reads a file of texts once, and refuses one that the model cannot answer; the number of its examples.

    Args:
      path: a file of rows or of lines, as `kbert predict` takes it.
      run_dir: the run directory, or where a checkpoint of others lies; of that only is known that it takes
        one of `ANY_INPUTS`.

    Raises:
      ValueError: as `examples_of_file` does.
    """
    task, task_config, _ = _recorded_task(run_dir) if holds_run(run_dir) else (None, {}, None)
    dataset = dataset_of_texts(run_dir)
    inputs = task_inputs(task, task_config) if task else ()
    if not inputs and has_rows(path, dataset):
        return count_rows(path, dataset, () if holds_run(run_dir) else ANY_INPUTS)
    examples = examples_of_file(path, inputs or ANY_INPUTS, dataset)
    return sum(1 for _ in with_checked_texts(examples, path, dataset, inputs and task and task_files(task)))


def dataset_of_texts(run_dir) -> DatasetConfig | None:
    """How a run reads files of texts, see `Files.dataset_of_texts`; None for any other path."""
    task, _, dataset = _recorded_task(run_dir)
    files = task_files(task) if task in TASKS else None
    return files.dataset_of_texts(dataset) if files and dataset else dataset


def _recorded_task(run_dir):
    """(name of the task, its config, the run's `DatasetConfig`); None each where there is no whole run."""
    try:
        details = read_json_object(Path(run_dir) / RUN_FILE)
        values = read_json_object(Path(run_dir) / "config.json")
        dataset = from_dict(DatasetConfig, values.get("dataset", {}))
        return details["task"], dict(details["task_config"]), dataset
    except (ValueError, KeyError, TypeError):
        return None, None, None
