"""Whether a file has the columns that a run reads, found out without TensorFlow: a wrong one is told at once.

A run that is broken, or of a task of the user's own, is asked nothing here; what opens it says what is wrong.
"""

from pathlib import Path
from typing import NamedTuple

from kbert.config import DatasetConfig, FinetuningConfig, from_dict
from kbert.files.json_file import read_json_object
from kbert.input_pipelines.labelled_files import MissingColumn
from kbert.input_pipelines.tables.table_paths import source_files
from kbert.input_pipelines.unlabelled_files import examples_of_columns
from kbert.runs.run_directory import holds_run
from kbert.tasks.file_columns import ALWAYS_TAKEN, columns_of, inputs_of, require_columns


class _RecordedTask(NamedTuple):
    """The task of a run: its name and its `task_config`, and the columns of its labelled files."""

    name: str
    config: dict
    dataset: DatasetConfig


def require_columns_of_run(path, run_dir):
    """Refuses a labelled file without a column that the run was trained on.

    Args:
      path: the labelled file, as for `stream_records`.
      run_dir: the run directory; for any other path nothing is checked.

    Raises:
      ValueError: when the file is missing, lacks a column, or has a first row that cannot be read.
    """
    recorded = _recorded_task(run_dir)
    if recorded is None:
        return
    source_files(path)  # raises where there is nothing to read
    try:
        require_columns(recorded.name, path, recorded.dataset)
    except MissingColumn as error:
        columns = ", ".join(map(repr, columns_of(recorded.name, recorded.dataset)))
        raise ValueError(
            f"{error.what} The run {run_dir} was trained on the columns {columns}; name the file's so."
        ) from None


def require_columns_of_model(path, run_dir, config: FinetuningConfig | None):
    """Refuses a labelled file without a column that the config names or, without a config, that the run does.

    Args:
      path: the labelled file, as for `stream_records`.
      run_dir: the run directory; None or any other path without a config: nothing is checked.
      config: how the file is read for a checkpoint that does not record it.

    Raises:
      ValueError: as `require_columns` and `require_columns_of_run`.
    """
    if config is not None:
        require_columns(config.task, path, config.dataset)
    elif run_dir:
        require_columns_of_run(path, run_dir)


def require_inputs_of_run(path, run_dir):
    """Refuses a file with columns, but without those of any text that the model answers.

    Args:
      path: a file that `has_columns`.
      run_dir: the run directory, or where a checkpoint of others lies; of that only is known that it takes a
        text, or a question with its context.

    Raises:
      ValueError: as `examples_of_columns` does before it reads a row.
    """
    if not holds_run(run_dir):
        examples_of_columns(path, ALWAYS_TAKEN)
    elif recorded := _recorded_task(run_dir):
        if inputs := inputs_of(recorded.name, recorded.config):
            examples_of_columns(path, inputs, recorded.dataset)


def _recorded_task(run_dir) -> _RecordedTask | None:
    """What run.json and config.json say; None where there is no run, or a broken one."""
    try:
        details = read_json_object(Path(run_dir) / "run.json")
        values = read_json_object(Path(run_dir) / "config.json")
        dataset = from_dict(DatasetConfig, values.get("dataset", {}))
        return _RecordedTask(details["task"], dict(details["task_config"]), dataset)
    except (ValueError, KeyError, TypeError):
        return None
