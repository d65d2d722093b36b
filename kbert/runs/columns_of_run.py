"""Whether a file has the columns that a run reads, without TensorFlow: a wrong one is refused at once.

A run that is broken, or of a task of the user's own, is not checked here; what opens it says what is wrong.
"""

from pathlib import Path

from kbert.config import DatasetConfig, FinetuningConfig, from_dict
from kbert.files.json_file import read_json_object
from kbert.input_pipelines.labelled_files import MissingColumn
from kbert.input_pipelines.tables.table_paths import source_files
from kbert.input_pipelines.unlabelled_files import examples_from_columns
from kbert.runs.run_directory import holds_run
from kbert.tasks.file_columns import ALWAYS_TAKEN, require_columns, task_columns, task_inputs


def require_columns_of_model(path, run_dir, config: FinetuningConfig | None = None):
    """Refuses a labelled file without a column that the config or, without a config, the run reads.

    Args:
      path: the labelled file, as for `stream_records`.
      run_dir: the run directory; for any other path without a config nothing is checked.
      config: how the file is read for a checkpoint that does not record it.

    Raises:
      ValueError: when the file is missing, lacks a column, or has a first row that cannot be read.
    """
    if config is not None:
        require_columns(config.task, path, config.dataset)
        return
    task, _, dataset = _recorded_task(run_dir)
    if task is None:
        return
    source_files(path)  # raises where there is nothing to read
    try:
        require_columns(task, path, dataset)
    except MissingColumn as error:
        columns = ", ".join(map(repr, task_columns(task, dataset)))
        raise ValueError(
            f"{error.what} The run {run_dir} was trained on {columns}; give the file's columns these names."
        ) from None


def require_inputs_of_run(path, run_dir):
    """Refuses a file with columns, but without those of any text that the model answers.

    Args:
      path: a file that `has_columns`.
      run_dir: the run directory, or where a checkpoint of others lies; of that only is known that it takes a
        text, or a question with its context.

    Raises:
      ValueError: as `examples_from_columns` does before it reads a row.
    """
    if not holds_run(run_dir):
        examples_from_columns(path, ALWAYS_TAKEN)
        return
    task, task_config, dataset = _recorded_task(run_dir)
    if task is not None and (inputs := task_inputs(task, task_config)):
        examples_from_columns(path, inputs, dataset)


def recorded_dataset(run_dir) -> DatasetConfig | None:
    """How labelled files of a run are read; None for any other path."""
    return _recorded_task(run_dir)[2]


def _recorded_task(run_dir):
    """(name of the task, its config, the run's `DatasetConfig`); None each where there is no whole run."""
    try:
        details = read_json_object(Path(run_dir) / "run.json")
        values = read_json_object(Path(run_dir) / "config.json")
        dataset = from_dict(DatasetConfig, values.get("dataset", {}))
        return details["task"], dict(details["task_config"]), dataset
    except (ValueError, KeyError, TypeError):
        return None, None, None
