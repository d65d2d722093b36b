"""The values that the weights of new layers begin with."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import keras

_read_next = ContextVar("read_next", default=False)


@contextlib.contextmanager
def read_next() -> Iterator[None]:
    """A block in which new layers have zeros: all weights are read next, and random ones take seconds."""
    token = _read_next.set(True)
    try:
        yield
    finally:
        _read_next.reset(token)


def normal(stddev: float) -> keras.initializers.Initializer:
    """The initializer of BERT: a truncated normal distribution. A new one for each table: one instance would
    give all the same numbers."""
    return keras.initializers.Zeros() if _read_next.get() else keras.initializers.TruncatedNormal(0.0, stddev)
