"""Several threads ask a LiteRT file: each call has an interpreter to itself."""

import contextlib
import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kbert.cores import num_cores

_MOST_BYTES = 1 << 30  # of all interpreters of a file, as often as they hold it


class InterpreterPool:
    """Interpreters of a file. An interpreter has one set of tensors: two calls at once would mix their texts.

    There are as many as calls have run at the same time, at most as many as the cores have room for: more
    would be no faster. Each has copies of the weights in the form that its kernels take, so of a large file
    there are fewer. A call beyond that waits.

    Args:
      make: makes an interpreter of `model_content`, the file's bytes. The first is made here.
      path: the file. It is read once: another one in its place, or another current folder, changes no answer
        of a second thread or of a forked process.
      num_threads: the threads of each.

    Raises:
      ValueError: for what is no LiteRT file.

    Attributes:
      content: the file's bytes.
      details: function from the name of a signature to (inputs, outputs), as LiteRT describes them.
    """

    def __init__(self, make: Callable[..., Any], path, num_threads: int):
        self._make, self._path, self.content = make, str(path), Path(path).read_bytes()
        if not self.content:
            raise ValueError(f"{path} is no LiteRT file, or damaged: it is empty.")
        self._most = max(1, min(num_cores() // num_threads, _MOST_BYTES // max(1, len(self.content))))
        self._begin()
        with self.borrowed() as runners:
            self.details = {
                name: (runner.get_input_details(), runner.get_output_details())
                for name, runner in runners.items()
            }
        _POOLS.add(self)

    def _begin(self):
        self._free: queue.LifoQueue = queue.LifoQueue()
        self._lock, self._num_made = threading.Lock(), 0

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[dict[str, Any]]:
        """The runners of an interpreter by the names of their signatures, for this block alone."""
        taken, free = self._take(), self._free
        try:
            yield taken[1]
        finally:
            free.put(taken)

    def _take(self):
        with contextlib.suppress(queue.Empty):
            return self._free.get_nowait()
        with self._lock:
            if self._num_made < self._most:
                try:
                    interpreter = self._make(model_content=self.content)
                    names = interpreter.get_signature_list()
                    runners = {name: interpreter.get_signature_runner(name) for name in names}
                except ValueError as error:
                    raise ValueError(f"{self._path} is no LiteRT file, or damaged: {error}") from None
                self._num_made += 1
                return (
                    interpreter,
                    runners,
                )  # which keep no hold of it: without it they would ask freed memory
        return self._free.get()


_POOLS: weakref.WeakSet[InterpreterPool] = weakref.WeakSet()


def _begin_again():
    """In a forked process: what other threads had borrowed, and their locks, never come back."""
    for pool in _POOLS:
        pool._begin()


os.register_at_fork(after_in_child=_begin_again)
