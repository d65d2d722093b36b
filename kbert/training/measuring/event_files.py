"""Writes the lines of metrics.jsonl as event files too, for TensorBoard."""

import contextlib
import importlib.util
import socket
from pathlib import Path

import tensorflow as tf
from absl import logging

# Fields that describe the line, not the model.
_NO_SCALARS = ("step", "split", "phase", "time", "elapsed_seconds")


def tensorboard_is_installed() -> bool:
    """Whether TensorBoard is installed for this Python; TensorFlow 2.21 does not install it."""
    return importlib.util.find_spec("tensorboard") is not None


class EventFiles:
    """Scalars of a run, in one folder for each split: `folder/train`, `folder/eval` and so on.

    The event files are a copy of metrics.jsonl. They are written again from it whenever a process starts or
    resumes the run, and then line by line. So a resumed run shows every step once, without what a killed
    process had written after its last checkpoint.

    Args:
      folder: the folder that holds the folders of the splits; event files of kbert in them are replaced.
      lines: the lines of metrics.jsonl so far, in order.
    """

    def __init__(self, folder, lines=()):
        self._folder = Path(folder)
        self._writers = {}
        self._is_broken = False
        with self._unless_broken():
            for old in self._folder.glob("*/events.out.tfevents.*.kbert"):
                old.unlink()
        for line in lines:
            self.write(line)

    def write(self, line: dict):
        """Appends one line. Its numbers become scalars; lists and strings are left out."""
        if self._is_broken:
            return
        with self._unless_broken():
            self._add(line)
            self._flush()

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
        summary = tf.compat.v1.Summary(value=values)
        event = tf.compat.v1.Event(wall_time=line.get("time", 0.0), step=line["step"], summary=summary)
        self._writer(line["split"], event.wall_time).write(event.SerializeToString())

    def _writer(self, split, wall_time):
        if split not in self._writers:
            folder = self._folder / split
            folder.mkdir(parents=True, exist_ok=True)
            # Event files are TFRecords. TensorBoard recognises them by their name and first record.
            path = folder / f"events.out.tfevents.{int(wall_time):010d}.{socket.gethostname()}.kbert"
            writer = self._writers[split] = tf.io.TFRecordWriter(str(path))
            writer.write(
                tf.compat.v1.Event(wall_time=wall_time, file_version="brain.Event:2").SerializeToString()
            )
            # This record makes a running TensorBoard drop what it has read from the files before.
            start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
            writer.write(tf.compat.v1.Event(wall_time=wall_time, session_log=start).SerializeToString())
        return self._writers[split]

    def _flush(self):
        for writer in self._writers.values():
            writer.flush()
