"""`open_as_run`: any checkpoint as a run directory, for a script that needs one."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from absl import logging

from kbert.checkpoints.allowance import Allowance
from kbert.checkpoints.formats import local_path, read_checkpoint
from kbert.checkpoints.kbert_run import RUN_FILE, write_kbert_run
from kbert.checkpoints.recorded_task import with_config
from kbert.config import FinetuningConfig


@contextlib.contextmanager
def open_as_run(
    path, do_lower_case: bool | None = None, config: FinetuningConfig | None = None, run_only: str = ""
) -> Iterator:
    """Gives the `RunDirectory` at `path`, or one that is made of a checkpoint and removed afterwards.

    Args:
      path: a run directory, or any checkpoint or name that `read_checkpoint` reads.
      do_lower_case: the casing, if a checkpoint does not record it; not for a run.
      config: a config of a checkpoint's task: the columns of labelled files, `task_settings` and
        `max_seq_length`; see `with_config`. Not for a run, which records them.
      run_only: the flag that makes sense for a run alone; it is refused for a checkpoint, with the command
        that makes a run of it. Empty if there is none.

    Raises:
      ValueError: when there is no model, or an argument does not go with it.
    """
    from kbert.runs.run_directory import RunDirectory

    folder = local_path(path)
    if (folder / RUN_FILE).is_file():
        given = {"--config": config, "--do_lower_case": do_lower_case}
        for flag in (flag for flag, value in given.items() if value is not None):
            raise ValueError(f"{flag} is for checkpoints of others; the run {path} records it. Leave it out.")
        yield RunDirectory(folder)
        return
    if run_only:
        raise ValueError(
            f"{run_only} is for runs of kbert, but {path} is none; make one of it first: kbert "
            f"convert --from={path} --to=runs/{Path(path).name}"
        )
    checkpoint = read_checkpoint(path, do_lower_case)
    if config is not None:
        checkpoint = with_config(checkpoint, config)
    with tempfile.TemporaryDirectory(prefix="kbert_") as aside:
        place = Path(aside) / Path(path).name
        write_kbert_run(checkpoint, place, Allowance())
        logging.info("%s is a checkpoint of %s, task %s", path, checkpoint.report.format, checkpoint.task)
        yield RunDirectory(place)
