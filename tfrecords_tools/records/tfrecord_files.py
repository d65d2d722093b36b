"""TFRecord files to write to; what goes wrong on the disk is an OSError, as of any other file."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


def open_tfrecord(path: str | Path, compression: str):
    """A `tf.io.TFRecordWriter`; to be used, and closed, in `naming_full_disks`.

    Args:
      path: the file.
      compression: "none" or "gzip".
    """
    import tensorflow as tf  # late: it takes seconds, and what is wrong with the flags has been said

    with naming_full_disks():
        return tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions("GZIP" if compression == "gzip" else ""))


@contextlib.contextmanager
def naming_full_disks() -> Iterator[None]:
    """Turns TensorFlow's errors of writing into an OSError that names the file and what is wrong.

    Raises:
      OSError: where TensorFlow could not write. It can be sent from a worker to its parent.
    """
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        path, _, what = error.message.partition("; ")
        raise OSError(f"{path} cannot be written ({what or error.message})") from None
