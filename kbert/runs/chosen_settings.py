"""chosen.json of a run: what an evaluation chose for its answers, such as a threshold."""

from pathlib import Path
from typing import NamedTuple

from absl import logging

from kbert.files.json_file import read_json_object
from kbert.files.whole_file import write_json

FILE = "chosen.json"


class Chosen(NamedTuple):
    """What was chosen.

    Args:
      settings: name -> value, arguments of the task's constructor.
      chosen_on: the file that it was chosen on.
    """

    settings: dict
    chosen_on: str


def write_chosen(run_path, step: int, settings: dict, chosen_on):
    """Keeps what was chosen, in the place of what was kept before.

    Args:
      run_path: the folder of the run.
      step: of the checkpoint that it was chosen for.
      settings: name -> value, arguments of the task's constructor.
      chosen_on: the file that it was chosen on.
    """
    write_json({"step": step, "task_config": settings, "chosen_on": str(chosen_on)}, Path(run_path) / FILE)


def read_chosen(run_path, step: int) -> Chosen | None:
    """What was chosen for a checkpoint; None, with a warning, where it was for another one.

    Raises:
      ValueError: when the file is broken.
    """
    path = Path(run_path) / FILE
    if not path.is_file():
        return None
    try:
        values = read_json_object(path)
        if type(values["step"]) is not int or not isinstance(values["task_config"], dict):
            raise ValueError("step is no number, or task_config no object")
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"{path} is broken ({error}); delete it; evaluate with keep_chosen writes it again."
        ) from None
    if values["step"] != step:
        logging.warning(
            "%s belongs to the checkpoint of step %d and is not used for that of step %d; evaluate "
            "that one with keep_chosen.", path, values["step"], step,
        )  # fmt: skip
        return None
    return Chosen(values["task_config"], values.get("chosen_on", ""))
