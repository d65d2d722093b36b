"""Requests wait in one queue; what fits into a number of tokens runs together.

No request waits for others: a run takes what came while the run before it was under way. So one client alone
is answered at once, and many share runs. A request with more tokens than a run may have is cut into slices,
one after the other, which bounds its memory and lets others in between. With padding, a run has at most eight
times as many tokens.

Requests to one signature run together where an answer alone and in a batch are the same: every input and
output has the batch as its first dimension, and no other dimension of an output is open. Each runs alone
where answers are padded to the longest of a request (token classification), or one number holds for the whole
request (`top_k`).
"""

import collections
import concurrent.futures
import re
import threading
import time
from typing import NamedTuple

import numpy as np

from kbert.features import ENCODER_INPUTS

from ..gate.saved_model_session import RequestError
from .request import Request

Arrays = dict[str, np.ndarray]
_MAX_PADDING = 8  # times the tokens of a run
# Lines of an error of TensorFlow: its nodes, and how many errors there were.
_AROUND = re.compile(r"\[\[|Graph execution error:|Detected at|\d+ (root error|successful op|derived error)")
_ASSERTION = re.compile(r"^assertion failed: \[(.*?)\](?= \[|$)")  # the first of what it says: the words
_NUMBERED = re.compile(r"^\(\d+\) [A-Z_]+: ")


class _Slice(NamedTuple):
    """Rows of a request: what they are asked, whom they may run with (the key; None for nobody)."""

    request: Request
    signature: str
    inputs: Arrays
    outputs: tuple[str, ...]
    tokens: list[int]
    key: tuple | None
    since: float
    answer: concurrent.futures.Future

    def is_wanted(self) -> bool:
        """Whether somebody waits for it still. If so it counts as running from now on."""
        if not self.answer.set_running_or_notify_cancel():
            return False
        try:
            self.request.remaining()
        except RequestError as error:
            self.answer.set_exception(error)
            return False
        return True


class BatchQueue:
    """Runs signatures of one model.

    Args:
      session: the `SavedModelSession`.
      max_batch_tokens: of a run.
      max_answer_bytes: of a request; larger ones are refused.
    """

    def __init__(self, session, max_batch_tokens: int, max_answer_bytes: int):
        self._session = session
        self._max_batch_tokens, self._max_answer_bytes = max_batch_tokens, max_answer_bytes
        self._waiting: collections.deque[_Slice] = collections.deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def run(
        self,
        request: Request,
        signature: str,
        inputs: Arrays,
        tokens: list[int],
        outputs: tuple[str, ...] = (),
    ) -> Arrays:
        """Runs one request, in slices where it is large, and waits for it.

        Args:
          request: says how long to wait, and is told how long it took.
          signature: its name.
          inputs: input name -> array.
          tokens: of each row; one number where the inputs have no rows in common.
          outputs: the ones wanted; empty means all.

        Raises:
          RequestError: of the model; `DEADLINE_EXCEEDED`; `RESOURCE_EXHAUSTED` for too large an answer.
        """
        definition = self._session.signatures[signature]
        answers: list[Arrays] = []
        size = 0
        for begin, end in _slices(tokens, self._max_batch_tokens):
            rows = {
                name: array[begin:end] if has_rows(definition.inputs[name]) else array
                for name, array in inputs.items()
            }
            if "input_mask" in rows:  # padded to the longest of the request: now to that of the slice
                longest = max(tokens[begin:end], default=None)
                rows = {name: a[:, :longest] if a.ndim == 2 else a for name, a in rows.items()}
            answer = self._wait(request, signature, rows, tokens[begin:end], outputs, definition)
            size += sum(map(_num_bytes, answer.values()))
            if size > self._max_answer_bytes:
                raise RequestError(
                    "RESOURCE_EXHAUSTED",
                    f"The response has more than {self._max_answer_bytes} bytes (--max_answer_bytes). Send "
                    "fewer texts at a time, or name the outputs that you need.",
                )
            answers.append(answer)
        return {name: joined([answer[name] for answer in answers]) for name in answers[0]}

    @property
    def length(self) -> int:
        """How many slices wait."""
        return len(self._waiting)

    def stop(self, seconds: float) -> bool:
        """Runs what waits, then ends; returns whether all ended within the time."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _wait(self, request, signature, inputs, tokens, outputs, definition) -> Arrays:
        key = (signature, outputs, _kinds(inputs)) if is_batchable(definition, inputs) else None
        future: concurrent.futures.Future = concurrent.futures.Future()
        waiting = _Slice(request, signature, inputs, outputs, tokens, key, time.monotonic(), future)
        with self._changed:
            if self._stopping:
                raise RequestError("UNAVAILABLE", "The server is stopping.")
            self._waiting.append(waiting)
            self._changed.notify()
        try:
            return future.result(request.remaining())
        except TimeoutError:
            future.cancel()
            request.give_up()
            request.remaining()  # raises
            raise

    def _work(self) -> None:
        while batch := self._take():
            began = time.monotonic()
            for waiting in batch:
                waiting.request.queued += began - waiting.since
            self._run(batch)

    def _take(self) -> list[_Slice]:
        """Waits for the first, and takes all that may run with it; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopping)
            if not self._waiting:
                return []
            batch = [self._waiting.popleft()]
            tokens = batch[0].tokens
            for waiting in list(self._waiting) if batch[0].key else ():
                if waiting.key == batch[0].key and _fit(tokens + waiting.tokens, self._max_batch_tokens):
                    self._waiting.remove(waiting)
                    batch.append(waiting)
                    tokens = tokens + waiting.tokens
            return batch

    def _run(self, batch: list[_Slice]) -> None:
        wanted = [waiting for waiting in batch if waiting.is_wanted()]
        if len(wanted) > 1:
            names = wanted[0].inputs
            together = {name: joined([waiting.inputs[name] for waiting in wanted]) for name in names}
            try:
                answer = self._session_run(wanted, together)
                sizes = [len(next(iter(waiting.inputs.values()))) for waiting in wanted]
                if all(len(array) == sum(sizes) for array in answer.values()):
                    begin = 0
                    for waiting, rows in zip(wanted, sizes, strict=True):
                        waiting.answer.set_result({n: a[begin : begin + rows] for n, a in answer.items()})
                        begin += rows
                    return
            except Exception:  # noqa: S110  one bad request must not spoil the others: each runs alone below
                pass
        for waiting in wanted:
            try:
                waiting.answer.set_result(self._session_run([waiting], waiting.inputs))
            except Exception as error:
                waiting.answer.set_exception(error)

    def _session_run(self, slices: list[_Slice], inputs: Arrays) -> Arrays:
        seconds = max(waiting.request.remaining() for waiting in slices) if len(slices) == 1 else None
        began = time.monotonic()
        try:
            return self._session.run(slices[0].signature, inputs, list(slices[0].outputs), seconds)
        except RequestError as error:
            if error.status == "DEADLINE_EXCEEDED":
                slices[0].request.give_up()
                slices[0].request.remaining()  # raises, and says whose time it was
            raise RequestError(error.status, _sentence(error.message)) from error
        finally:
            for waiting in slices:
                waiting.request.inference += time.monotonic() - began


def is_batchable(definition, inputs: Arrays) -> bool:
    """Whether requests to a signature may run together; see the top of this file."""
    if not all(map(has_rows, definition.inputs.values())):
        return False
    for info in definition.outputs.values():
        sizes = [dim.size for dim in info.tensor_shape.dim]
        if info.tensor_shape.unknown_rank or not sizes or sizes[0] != -1 or min(sizes[1:], default=0) < 0:
            return False
    rows = {array.shape for name, array in inputs.items() if name in ENCODER_INPUTS}
    return len({array.shape[:1] for array in inputs.values()}) == 1 and len(rows) <= 1


def _sentence(message: str) -> str:
    """What an op of the graph said, without the nodes that TensorFlow lists around it."""
    lines = [line.strip() for line in message.splitlines()]
    messages = [line for line in lines if line and not _AROUND.match(line)]
    return _ASSERTION.sub(r"\1", _NUMBERED.sub("", messages[0])) if messages else message


def has_rows(info) -> bool:
    """Whether the first dimension of an input or output is the batch."""
    shape = info.tensor_shape
    return not shape.unknown_rank and bool(shape.dim) and shape.dim[0].size == -1


def _fit(tokens: list[int], most: int) -> bool:
    """Whether rows of so many tokens may run together."""
    return sum(tokens) <= most and len(tokens) * max(tokens, default=0) <= _MAX_PADDING * most


def _slices(tokens: list[int], most: int):
    """(begin, end) of rows that may run together, or of one row with more."""
    begin, total, longest = 0, 0, 0
    for row, number in enumerate(tokens):
        total, longest = total + number, max(longest, number)
        if row > begin and (total > most or (row + 1 - begin) * longest > _MAX_PADDING * most):
            yield begin, row
            begin, total, longest = row, number, number
    yield begin, None


def _kinds(inputs: Arrays) -> tuple:
    # Encoder inputs of several lengths go together: their mask says what is padding.
    padded = "input_mask" in inputs
    return tuple((name, a.dtype.str, a.ndim if padded else a.shape[1:]) for name, a in sorted(inputs.items()))


def joined(arrays: list[np.ndarray]) -> np.ndarray:
    """Rows of several arrays in one, padded with 0 or "" as the graph pads within a request."""
    if len(arrays) == 1 or arrays[0].ndim == 0:
        return arrays[0]
    widths = np.max([array.shape[1:] for array in arrays], axis=0) if arrays[0].ndim > 1 else []
    whole = np.full(
        [sum(map(len, arrays)), *widths], b"" if arrays[0].dtype == object else 0, arrays[0].dtype
    )
    begin = 0
    for array in arrays:
        whole[(slice(begin, begin + len(array)), *(slice(size) for size in array.shape[1:]))] = array
        begin += len(array)
    return whole


def _num_bytes(array: np.ndarray) -> int:
    return array.nbytes + (sum(map(len, array.ravel())) if array.dtype == object else 0)
