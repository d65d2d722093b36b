"""Writes the lines of metrics.jsonl as event files too, for TensorBoard."""

import contextlib
import importlib.util
from pathlib import Path

import tensorflow as tf
from absl import logging

# Fields that describe the line, not the model.
_NO_SCALARS = ("step", "split", "phase", "time", "elapsed_seconds")
_SUFFIX = ".kbert"


def tensorboard_is_installed() -> bool:
    """Whether TensorBoard is installed for this Python; TensorFlow 2.21 does not install it."""
    return importlib.util.find_spec("tensorboard") is not None


class EventFiles:
    """Scalars of a run, in one folder for each split: `folder/train`, `folder/eval` and so on.

    The event files are a copy of metrics.jsonl. They are written again from it whenever a process starts or
    resumes the run, and then line by line. So a resumed run shows every step once, without what a killed
    process had written after its last checkpoint. The time of an event is that of its writing.

    Args:
      folder: the folder that holds the folders of the splits; event files of kbert in them are replaced.
      lines: the lines of metrics.jsonl so far, in order.
    """

    def __init__(self, folder, lines=()):
        self._folder = Path(folder)
        self._writers = {}
        self._is_broken = False
        with self._unless_broken():
            for old in self._folder.glob(f"*/events.out.tfevents.*{_SUFFIX}"):
                old.unlink()
        self.write(*lines)

    def write(self, *lines: dict):
        """Appends lines. Their numbers become scalars; lists and strings are left out."""
        if self._is_broken:
            return
        with self._unless_broken():
            for line in lines:
                self._add(line)
            for writer in self._writers.values():
                writer.flush()

    @contextlib.contextmanager
    def _unless_broken(self):
        try:
            yield
        except (OSError, tf.errors.OpError) as error:  # TensorFlow has its own errors for a full disk
            self._is_broken = True
            logging.warning(
                "EVENT FILES NOT WRITTEN (%s); metrics.jsonl is still written, and the next start of this "
                "run makes the event files from it.", str(error).splitlines()[0],
            )  # fmt: skip

    def _add(self, line):
        values = [
            tf.compat.v1.Summary.Value(tag=name, simple_value=value)
            for name, value in line.items()
            if isinstance(value, int | float) and name not in _NO_SCALARS
        ]
        split = line["split"]
        if split not in self._writers:
            folder = str(self._folder / split)
            self._writers[split] = tf.summary.create_file_writer(folder, filename_suffix=_SUFFIX)
        with self._writers[split].as_default(step=line["step"]):
            tf.summary.experimental.write_raw_pb(tf.compat.v1.Summary(value=values).SerializeToString())
