"""Event files are metrics.jsonl once more, every step once."""

import tensorflow as tf

from kbert.training.measuring.event_files import EventFiles

LINES = [
    {"step": 10, "split": "train", "loss": 2.5, "learning_rate": 1e-4, "elapsed_seconds": 3.0, "time": 1.7e9},
    {"step": 10, "split": "eval", "loss": 2.25, "f1": None, "confusion": [[1, 0], [2, 3]], "time": 1.7e9 + 1},
    {"step": 20, "split": "train", "loss": 2.0, "learning_rate": 5e-5, "phase": "two", "time": 1.7e9 + 2},
]


def events(folder):
    """(step, scalars) of every event with scalars, of all files in a folder."""
    read = []
    for path in sorted(folder.iterdir()):
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            event = tf.compat.v1.Event.FromString(record)
            if event.summary.value:
                values = {value.tag: value.simple_value for value in event.summary.value}
                read.append((event.step, values))
    return read


def test_a_resumed_run_shows_every_step_once(tmp_path):
    files = EventFiles(tmp_path)
    for line in LINES:
        files.write(line)
    files.write({"step": 30, "split": "train", "loss": 9.0, "time": 1.7e9 + 3})  # past the checkpoint
    resumed = EventFiles(tmp_path, LINES)
    resumed.write({"step": 30, "split": "train", "loss": 1.5, "time": 1.7e9 + 99})
    assert [(step, values["loss"]) for step, values in events(tmp_path / "train")] == [
        (10, 2.5), (20, 2.0), (30, 1.5),
    ]  # fmt: skip
    assert len(events(tmp_path / "eval")) == 1
