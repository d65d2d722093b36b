"""The records of a comparison: made once, and found again when the same command goes on."""

from collections.abc import Callable
from pathlib import Path

from absl import logging

from kbert.config import FinetuningConfig, to_dict
from kbert.experiments.start_content import content_digest
from kbert.input_pipelines.tables.table_paths import source_digest
from kbert.manifest import FILE_NAME, read_manifest
from kbert.tasks import TASKS


def layer_records(
    config: FinetuningConfig,
    input_file: str | Path,
    folder: str | Path,
    source: str,
    write: Callable[[FinetuningConfig, str | Path, Path], object],
) -> Path:
    """The folder of records of a file's layer outputs; they are written where they are not there yet.

    Args:
      config: the config with complete labels and `task_settings`.
      input_file: the labelled file.
      folder: where the records are, or will be.
      source: the checkpoint whose encoder is asked.
      write: function that writes the records, of the config, the file and the folder.

    Raises:
      ValueError: when the folder holds records of another file, checkpoint or settings.
    """
    folder = Path(folder)
    if not (folder / FILE_NAME).is_file():
        write(config, input_file, folder)
        return folder
    task_class = TASKS[config.task]
    asked = {
        "input_digest": source_digest(input_file),
        "init_checkpoint": source,
        "init_content": content_digest(source),
        "max_seq_length": config.max_seq_length,
        "task_settings": _of_rows(task_class, to_dict(task_class.read_settings(config.task_settings))),
    }
    settings = read_manifest(folder).settings
    there = {name: settings.get(name) for name in asked}
    if not asked["init_content"]:  # a checkpoint that is gone
        there["init_content"] = asked["init_content"]
    there["task_settings"] = _of_rows(task_class, settings.get("task_settings") or {})
    differing = [
        f"{name} (was {there[name]!r}, now {value!r})"
        for name, value in asked.items()
        if there[name] != value
    ]
    if differing:
        raise ValueError(
            f"{folder} holds features of something else: {'; '.join(differing)}. Repeat its settings, or "
            "give another --run_dir."
        )
    logging.info("%s holds the features of %s", folder, input_file)
    return folder


def _of_rows(task_class, settings):
    return {name: settings.get(name) for name in task_class.row_settings}
