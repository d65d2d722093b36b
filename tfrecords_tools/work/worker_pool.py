"""Work on all cores: cut into items, and a function over them in worker processes; results come in order."""

import contextlib
import functools
import itertools
import multiprocessing
import multiprocessing.forkserver
import os
import signal
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

from absl import logging

from kbert.cli.progress import activity
from kbert.cores import num_cores
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary_files import read_vocabulary

# Items per worker that are handed out before the next result in order is there: enough to keep all workers
# busy while one item takes long, few enough that results do not pile up.
_ITEMS_AHEAD = 4
WITH_TENSORFLOW = ("kbert.tokenization.wordpiece_tokenizer",)
BYTES_WORTH_A_WORKER = 4 << 20  # of text: each worker takes seconds to start, see `_context`


class WorkerPool:
    """Processes that live until the `with` block ends, so that they import their modules once for all stages.

    The results do not depend on the number of workers, as long as the function's result depends on its item
    alone. With one worker everything runs in this process.

    Args:
      num_workers: how many processes; 0 means one for each core that this process may use.
      modules: what each of them needs, loaded once for all.

    Examples:
      with WorkerPool(num_workers=4) as pool:
          for count in pool.map(count_words_of_file, files):
              total += count
    """

    def __init__(self, num_workers: int = 0, modules: Sequence[str] = WITH_TENSORFLOW):
        if num_workers < 0:
            raise ValueError(f"num_workers={num_workers} must be at least 1, or 0 for one for each core.")
        self.num_workers = num_workers or num_cores()
        self._modules = modules
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> "WorkerPool":
        if self.num_workers > 1:
            self._executor = ProcessPoolExecutor(
                self.num_workers,
                mp_context=_context(self._modules),
                initializer=_start_worker,
                initargs=(logging.get_verbosity(),),
            )
        return self

    def __exit__(self, *exception):
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable, items: Iterable) -> Iterator:
        """Yields `function(item)` for each item, in the order of the items.

        Args:
          function: a function of a module, or a `functools.partial` of one: workers import it by name.
          items: what to call it with; each must be picklable. They are drawn as they are needed.

        Raises:
          Whatever the function raises, at the first item that fails; items that have not begun are cancelled.
          ChildProcessError: when a worker was killed.
        """
        if self._executor is None:
            yield from map(function, items)
            return
        waiting, doing = deque(), f"starting {self.num_workers} worker processes"
        items = iter(items)
        try:
            while True:
                with activity(doing):
                    room = _ITEMS_AHEAD * self.num_workers - len(waiting)
                    for item in itertools.islice(items, room):
                        waiting.append(self._executor.submit(function, item))
                    if not waiting:
                        return
                    result = waiting.popleft().result()
                yield result
                doing = f"waiting for {self.num_workers} worker processes"
        except BrokenProcessPool:
            raise ChildProcessError(
                "a worker process was killed, perhaps because memory ran out; run the same command again, "
                "with a smaller --num_workers if it happens again."
            ) from None
        finally:
            for future in waiting:
                future.cancel()


@dataclass(frozen=True)
class StoredVocabulary:
    """A vocabulary in a folder. Two are equal when they give the same ids, wherever the files lie.

    Processes cache under this key what they build from a vocabulary. Another job with the same vocabulary
    does not trace its tokenizer again. A job with another vocabulary in the same folder never gets the old
    tokenizer.

    Args:
      folder: where its files are.
      description: its `describe()`.
      fingerprint: the vocabulary's.

    Attributes:
      longest_word: its `max_input_chars_per_word`, which the fingerprint leaves out; None for the default.
    """

    folder: Path = field(compare=False)
    description: dict = field(compare=False)
    fingerprint: str
    longest_word: int | None = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "longest_word", self.description.get("max_input_chars_per_word"))

    @functools.lru_cache(maxsize=1)  # noqa: B019  # keeps one
    def read(self) -> BaseVocabulary:
        return read_vocabulary(self.folder, self.description)


def byte_batches(texts: Iterable, num_bytes: int, size: Callable = len) -> Iterator[list]:
    """Yields the texts in order, in lists that are closed as soon as they hold `num_bytes`.

    Args:
      texts: bytes, or whatever `size` can measure.
      num_bytes: a list that holds at least this many bytes is full. Its last text may exceed the number.
      size: a function that returns the number of bytes of one text.
    """
    batch, held = [], 0
    for text in texts:
        batch.append(text)
        held += size(text)
        if held >= num_bytes:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _context(modules):
    """How workers are started: as forks of a process that has imported the modules but never used them.

    So importing TensorFlow costs its seconds and its memory only once, whatever the number of workers. A
    process that has used it has threads and must not be forked, so this process is not the one that is
    forked. On macOS, system libraries do not support forking: there every worker is a new interpreter.
    """
    if sys.platform == "darwin":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kbert.cli.quiet_tensorflow", *modules])
    try:
        with _same_path():
            multiprocessing.forkserver.ensure_running()
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(  # "AF_UNIX path too long"; new releases of Python take /tmp by themselves
            f"TMPDIR={tempfile.gettempdir()} is too long for the socket of worker processes; set a shorter "
            "one, or give --num_workers=1."
        ) from error
    return context


@contextlib.contextmanager
def _same_path():
    """What starts here finds modules where this process does, not first in the current folder.

    The fork server is sent this path and does not use it (Python 3.11 to 3.13): it took a checkout there, a
    folder called kbert, for the package.
    """
    path = os.pathsep.join(entry for entry in sys.path if isinstance(entry, str))
    variables = {"PYTHONSAFEPATH": "1", "PYTHONPATH": path}
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def workers_worth(num_bytes: int) -> int:
    """How many workers so much text is worth, at most one for each core: a small corpus needs one alone."""
    return min(num_cores(), 1 + num_bytes // BYTES_WORTH_A_WORKER)


def _start_worker(verbosity):
    """Leaves Ctrl-C to the parent, and ends when the parent ends, even if the parent was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"  # each would take all of a GPU's memory for nothing
    logging.set_verbosity(verbosity)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent():
    with contextlib.suppress(OSError):
        multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)
