"""Opens TFRecord files for writing; disk errors are raised as OSError, as for any other file."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from kbert.files.full_disk import code_of_full_disk


def open_tfrecord(path: str | Path, compression: str):
    """Opens a `tf.io.TFRecordWriter`; use and close it inside `with naming_full_disks()`.

    Args:
      path: the file.
      compression: "none" or "gzip".
    """
    import tensorflow as tf  # late: it takes seconds, and wrong flags have been reported by now

    with naming_full_disks():
        return tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions("GZIP" if compression == "gzip" else ""))


@contextlib.contextmanager
def naming_full_disks() -> Iterator[None]:
    """Turns TensorFlow's write errors into an OSError that names the file and what is wrong.

    Raises:
      OSError: where TensorFlow could not write. It can be pickled, so a worker can send it to its parent.
    """
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        path, _, what = error.message.partition("; ")
        raise OSError(code_of_full_disk(error) or errno.EIO, what or error.message, path) from None
