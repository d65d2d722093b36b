"""How many signatures run at a time."""

import contextlib
import threading

import numpy as np

from ...gate.saved_model_session import SavedModelSession
from ..deadline import Deadline, late


class Runs:
    """Lets a few requests run at a time, for all models of a server.

    `Session.run` releases Python's lock and uses all cores by itself. More than about one run for each core
    only shares them out, and each run holds its own intermediate tensors.

    Args:
        num_parallel: how many may run at a time.
    """

    def __init__(self, num_parallel: int):
        self._slots = threading.BoundedSemaphore(num_parallel)

    def run(
        self,
        session: SavedModelSession,
        signature: str,
        inputs: dict[str, np.ndarray],
        output_filter: list[str],
        deadline: Deadline,
    ) -> dict[str, np.ndarray]:
        """Runs one signature when there is room; see `SavedModelSession.run`.

        Raises:
            RequestError: of the model, or `DEADLINE_EXCEEDED`.
        """
        with self.slot(deadline):
            return session.run(signature, inputs, output_filter, deadline.remaining())

    @contextlib.contextmanager
    def slot(self, deadline: Deadline):
        """Waits for room, and holds it for the `with` block."""
        if not self._slots.acquire(timeout=deadline.remaining()):
            raise late()
        try:
            yield
        finally:
            self._slots.release()
