"""One request on its way through the server: how long it may take, and what became of it."""

import time
from collections.abc import Callable

import numpy as np

from ..gate.saved_model_session import RequestError


def invalid(message: str) -> RequestError:
    """The error of a request that asks for something impossible."""
    return RequestError("INVALID_ARGUMENT", message)


def require_whole(truncated: np.ndarray, truncate: bool, sentence: Callable[[int], str]) -> None:
    """Refuses texts that were cut.

    Args:
      truncated: bool (texts,).
      truncate: whether a text may be cut.
      sentence: what is said of the first by its index.

    Raises:
      RequestError: a text was cut, and may not be.
    """
    if not truncate and truncated.any():
        raise invalid(sentence(int(truncated.argmax())))


class Request:
    """What the parts of the server tell each other, and at its end the log.

    Args:
      timeout_seconds: when nobody waits for the answer any more.
      waits: who waits so long, for the error.

    Attributes:
      texts, tokens: how many it asks about.
      cut: how many of the texts were longer than the model reads.
      is_estimated: whether tokens are: those of texts that the graph tokenizes.
      tokenizing: seconds spent on it outside of the graph.
      queued, inference: seconds it waited, and its runs took.
    """

    def __init__(self, timeout_seconds: float, waits: str = "this server waits"):
        self._began = time.monotonic()
        self._end = self._began + timeout_seconds
        self._waits = waits
        self.texts = self.tokens = self.cut = 0
        self.is_estimated = False
        self.tokenizing = self.queued = self.inference = 0.0

    def remaining(self) -> float:
        """The seconds that are left.

        Raises:
          RequestError: `DEADLINE_EXCEEDED`.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise RequestError("DEADLINE_EXCEEDED", f"The request took longer than {self._waits}.")
        return left

    def count(self, texts: int, tokens: int, estimated: bool = False) -> None:
        """Adds what one run of it asks about."""
        self.texts += texts
        self.tokens += tokens
        self.is_estimated |= estimated

    def give_up(self) -> None:
        """Nobody waits any more: what has not run yet does not run."""
        self._end = self._began

    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._began

    def line(self, method: str, status: object) -> str:
        """The line of the log."""
        tokenizing = f"{1000 * self.tokenizing:.1f}ms" if self.tokenizing else "in the graph"
        parts = [f"{method} {status} total={1000 * self.seconds():.1f}ms"]
        if self.texts:
            cut = f"cut={self.cut} " if self.cut else ""
            parts.append(
                f"texts={self.texts} {cut}tokens={self.tokens} queue={1000 * self.queued:.1f}ms "
                f"tokenization={tokenizing} inference={1000 * self.inference:.1f}ms"
            )
        return " ".join(parts)
