"""The lines of metrics.jsonl once more as event files, for TensorBoard."""

import importlib.util
import socket
from pathlib import Path

import tensorflow as tf
from absl import logging

# What a line says about itself, not about the model.
_NO_SCALARS = ("step", "split", "phase", "time", "elapsed_seconds")


def tensorboard_is_installed() -> bool:
    """Whether the Python of this process could start TensorBoard; TensorFlow 2.21 does not bring it."""
    return importlib.util.find_spec("tensorboard") is not None


class EventFiles:
    """Scalars of a run, in `folder/train`, `folder/eval` and so on, a folder for each split.

    metrics.jsonl is the record and the event files are its copy: they are written anew from it whenever a
    process takes up the run, and then a line at a time. So a resumed run shows every step once, and what a
    killed one had written past its checkpoint is gone.

    Args:
      folder: where the splits' folders lie or come to lie; event files of `kbert` in them are replaced.
      lines: the lines of metrics.jsonl so far, in order.
    """

    def __init__(self, folder, lines=()):
        self._folder = Path(folder)
        self._writers = {}
        self._is_broken = False
        for old in self._folder.glob("*/events.out.tfevents.*.kbert"):
            old.unlink()
        for line in lines:
            self.write(line)

    def write(self, line: dict):
        """Appends one line: its numbers become scalars, lists and words are left out."""
        if self._is_broken:
            return
        try:
            self._add(line)
            self._flush()
        except (OSError, tf.errors.OpError) as error:  # TensorFlow's own names for a full disk
            self._is_broken = True
            logging.warning(
                "EVENT FILES NOT WRITTEN (%s); metrics.jsonl goes on, and the next start of this run makes "
                "them anew from it.", str(error).splitlines()[0],
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
            # Event files are TFRecords; their name and first record are what TensorBoard looks for.
            path = folder / f"events.out.tfevents.{int(wall_time):010d}.{socket.gethostname()}.kbert"
            writer = self._writers[split] = tf.io.TFRecordWriter(str(path))
            writer.write(
                tf.compat.v1.Event(wall_time=wall_time, file_version="brain.Event:2").SerializeToString()
            )
            # A TensorBoard that has read the files before forgets them at this.
            start = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
            writer.write(tf.compat.v1.Event(wall_time=wall_time, session_log=start).SerializeToString())
        return self._writers[split]

    def _flush(self):
        for writer in self._writers.values():
            writer.flush()
