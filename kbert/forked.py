"""A process that was forked while TensorFlow was at work: its next large op would never return.

TensorFlow's threads are not in the fork, and nothing of it tells. Web servers that preload make such
processes, and `multiprocessing` with the start method "fork". docs/api.md says what to do.
"""

import contextlib
import os
import sys

_with_tensorflow = False


def require_own_tensorflow():
    """Raises RuntimeError in a process that was forked from one in which TensorFlow had begun to work.

    It is seen for forks after kbert was imported.
    """
    if _with_tensorflow:
        raise RuntimeError(
            "this process was forked from one in which TensorFlow was already at work, and TensorFlow does "
            "not survive that: the call would never return. Load the model after the fork: a web server "
            'without preloading or in its post_fork hook, multiprocessing with the start method "spawn" '
            "(docs/api.md, Threads and processes)."
        )


def _has_begun() -> bool:
    """Whether TensorFlow has made its threads: from then on their number cannot be set."""
    tensorflow = sys.modules.get("tensorflow")
    with contextlib.suppress(AttributeError, ImportError):  # it is just being imported
        threads = tensorflow.config.threading
        number = threads.get_inter_op_parallelism_threads()
        try:
            threads.set_inter_op_parallelism_threads(number + 1)
        except RuntimeError:
            return True
        threads.set_inter_op_parallelism_threads(number)
    return False


def _look():
    global _with_tensorflow
    _with_tensorflow = _with_tensorflow or _has_begun()


os.register_at_fork(after_in_child=_look)
