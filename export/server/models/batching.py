"""Cross-request batching: requests of one signature that come together run together.

The real server batches with `--enable_batching`; this one takes the same two numbers, and splits what is
larger, as that one does with `enable_large_batch_splitting`. No thread of its own
is needed. The first request of a batch leads it: it waits for others until the batch is full or its time is
over, runs it, and hands each its rows. The others wait.

A signature is batched where an answer alone and an answer in a batch have the same shape:

- every input has the batch as its first dimension, so nothing like `top_k` is shared;
- every output has the batch as its first dimension, and all others are known. Where answers are padded to
  the longest of a request (labels of words), requests run alone.

Texts are 1-D, so texts of any lengths go together. Inputs of two dimensions go together where the second
is the same.
"""

import threading

import numpy as np

from ...gate.saved_model_session import RequestError, SavedModelSession
from ..deadline import Deadline, late
from .runs import Runs


class Batching:
    """Runs signatures of one loaded version, several requests at a time.

    Args:
        session: the model.
        runs: how many batches run at a time.
        max_batch_size: rows of a batch. A request with more rows is split, which bounds the memory that it
            takes and lets it be cancelled in between.
        timeout_seconds: how long a batch waits for more requests. While all of `runs` are busy it stays open
            for longer, which costs nobody time.
    """

    def __init__(self, session: SavedModelSession, runs: Runs, max_batch_size: int, timeout_seconds: float):
        self._session = session
        self._runs = runs
        self._max_batch_size = max_batch_size
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._open: dict[tuple, _Batch] = {}
        self._batched = {name for name, one in session.signatures.items() if is_batchable(one)}

    def run(self, signature: str, inputs: dict, output_filter: list[str], deadline: Deadline) -> dict:
        """Runs one request, alone or with others; see `SavedModelSession.run`."""
        arrays = {name: _comparable(array) for name, array in inputs.items()}
        rows = _num_rows(arrays) if signature in self._batched else None
        if rows is None or rows == self._max_batch_size:
            return self._runs.run(self._session, signature, inputs, output_filter, deadline)
        if rows > self._max_batch_size:
            return self._run_in_parts(signature, arrays, rows, output_filter, deadline)

        request = _Request(arrays, rows, deadline)
        key = (signature, tuple(output_filter), _kinds(arrays))
        batch = self._join(key, request)
        if batch.requests[0] is request:
            self._lead(key, batch)
        elif not request.done.wait(deadline.remaining()):
            raise late()
        return request.answer()

    def _run_in_parts(self, signature, arrays, rows: int, output_filter, deadline) -> dict:
        parts = []
        for begin in range(0, rows, self._max_batch_size):
            part = {name: array[begin : begin + self._max_batch_size] for name, array in arrays.items()}
            parts.append(self._runs.run(self._session, signature, part, output_filter, deadline))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _join(self, key: tuple, request: "_Request") -> "_Batch":
        with self._lock:
            batch = self._open.get(key)
            if batch is None or batch.rows + request.rows > self._max_batch_size:
                if batch is not None:
                    batch.full.set()
                batch = self._open[key] = _Batch()
            batch.requests.append(request)
            batch.rows += request.rows
            if batch.rows == self._max_batch_size:
                del self._open[key]
                batch.full.set()
            return batch

    def _lead(self, key: tuple, batch: "_Batch") -> None:
        signature, output_filter, _ = key
        try:
            batch.full.wait(self._timeout_seconds)
            # Not by the leader's own deadline: the others would lose their answers with it.
            with self._runs.slot(Deadline()):
                with self._lock:
                    if self._open.get(key) is batch:
                        del self._open[key]
                self._run(signature, list(output_filter), batch)
        finally:
            with self._lock:
                if self._open.get(key) is batch:
                    del self._open[key]
            batch.end()

    def _run(self, signature: str, output_filter: list[str], batch: "_Batch") -> None:
        if len(batch.requests) > 1:
            try:
                outputs = self._session.run(signature, batch.inputs(), output_filter, batch.seconds())
                if all(array.ndim and len(array) == batch.rows for array in outputs.values()):
                    batch.split(outputs)
                    return
            except RequestError as error:
                if error.status in ("CANCELLED", "UNAVAILABLE"):  # the server is stopping
                    raise
        # One bad request must not spoil the others, so each runs alone and gets its own error.
        for request in batch.requests:
            try:
                seconds = request.deadline.remaining()
                request.outputs = self._session.run(signature, request.inputs, output_filter, seconds)
            except RequestError as error:
                request.error = error


class _Request:
    def __init__(self, inputs: dict[str, np.ndarray], rows: int, deadline: Deadline):
        self.inputs = inputs
        self.rows = rows
        self.deadline = deadline
        self.done = threading.Event()
        self.outputs: dict[str, np.ndarray] | None = None
        self.error: RequestError | None = None

    def answer(self) -> dict[str, np.ndarray]:
        if self.error is not None:
            # A new one for each thread: a traceback is written into an exception when it is raised.
            raise RequestError(self.error.status, self.error.message)
        if self.outputs is None:
            raise RequestError("UNAVAILABLE", "The batch of this request was not run.")
        return self.outputs


class _Batch:
    def __init__(self):
        self.requests: list[_Request] = []
        self.rows = 0
        self.full = threading.Event()

    def inputs(self) -> dict[str, np.ndarray]:
        names = self.requests[0].inputs
        return {name: np.concatenate([one.inputs[name] for one in self.requests]) for name in names}

    def seconds(self) -> float | None:
        deadline = self.requests[0].deadline
        for request in self.requests:
            deadline = deadline.latest(request.deadline)
        return deadline.remaining()

    def split(self, outputs: dict[str, np.ndarray]) -> None:
        begin = 0
        for request in self.requests:
            end = begin + request.rows
            request.outputs = {name: array[begin:end] for name, array in outputs.items()}
            begin = end

    def end(self) -> None:
        for request in self.requests:
            request.done.set()


def is_batchable(signature) -> bool:
    """Tells whether requests to a signature may run together; see the top of this file."""
    for info in signature.inputs.values():
        if info.tensor_shape.unknown_rank or not info.tensor_shape.dim or info.tensor_shape.dim[0].size != -1:
            return False
    for info in signature.outputs.values():
        sizes = [dim.size for dim in info.tensor_shape.dim]
        if info.tensor_shape.unknown_rank or not sizes or sizes[0] != -1 or min(sizes[1:], default=0) < 0:
            return False
    return bool(signature.inputs)


def _comparable(array: np.ndarray) -> np.ndarray:
    # NumPy's own strings have a length in their dtype, and joining them would cut NUL bytes off.
    return array.astype(object) if array.dtype.kind in "SU" else array


def _num_rows(arrays: dict[str, np.ndarray]) -> int | None:
    rows = {len(array) if array.ndim else 0 for array in arrays.values()}
    return rows.pop() or None if len(rows) == 1 else None


def _kinds(arrays: dict[str, np.ndarray]) -> tuple:
    return tuple(sorted((name, array.dtype.str, array.shape[1:]) for name, array in arrays.items()))
