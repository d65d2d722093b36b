"""How long a LiteRT file takes for one row, with XNNPACK, LiteRT's default on CPUs."""

import statistics
import time
from collections.abc import Callable

import numpy as np

from kbert.features import ENCODER_INPUTS

from .litert_model import LiteRTModel

THREADS = (1, 2)
_WARM_UP, _LEAST, _MOST = 3, 5, 50  # calls
_SECONDS = 1.5  # for the calls of one length and number of threads, beyond the least number


def median_latencies(path, vocabulary, clock: Callable[[], float] = time.perf_counter) -> dict:
    """Milliseconds of one call on a full row, median: length -> threads -> float, both as strings.

    A full row is the worst case. For a file of several lengths each is measured by itself.
    """
    found: dict[str, dict[str, float]] = {}
    for threads in THREADS:
        model = LiteRTModel(path, vocabulary, threads)
        for length in model.lengths:
            seconds = _median_seconds(model, length, clock)
            found.setdefault(str(length), {})[str(threads)] = round(1000 * seconds, 3)
    return found


def _median_seconds(model, length, clock) -> float:
    ones = np.ones(model.input_shape(length), np.int32)
    row = {name: ones * (name != "segment_ids") for name in ENCODER_INPUTS}
    for _ in range(_WARM_UP):
        model.run(row, length)
    times: list[float] = []
    while len(times) < _LEAST or (len(times) < _MOST and sum(times) < _SECONDS):
        began = clock()
        model.run(row, length)
        times.append(clock() - began)
    return statistics.median(times)
