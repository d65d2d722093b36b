"""TensorFlow in a worker, with the threads that a contestant has."""

from kbert.cli import quiet_tensorflow  # noqa: F401


def tensorflow_with(threads: int, ops_at_a_time: int | None = None):
    """The module `tensorflow`, which must not have computed anything yet.

    Args:
      threads: of each op.
      ops_at_a_time: how many ops run side by side; by default as many as threads.
    """
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(ops_at_a_time or threads)
    return tf
