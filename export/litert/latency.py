"""How long a LiteRT file takes for one row, with XNNPACK, LiteRT's default on CPUs."""

import functools
import statistics
import time
import timeit
from collections.abc import Callable

import numpy as np

from kbert.features import ENCODER_INPUTS

from .litert_model import LiteRTModel

THREADS = (1, 2)
_WARM_UP, _LEAST, _MOST = 3, 5, 50  # calls
_SECONDS = 1.5  # for the calls of one length and number of threads, beyond the least number


def median_latencies(path, vocabulary) -> dict[str, dict[str, float]]:
    """Milliseconds of one call on a full row, median: length -> threads -> float, both as strings.

    A full row is the worst case. For a file of several lengths each is measured by itself.
    """
    models = {str(threads): LiteRTModel(path, vocabulary, threads) for threads in THREADS}
    lengths = models[str(THREADS[0])].lengths
    return {
        str(length): {n: round(1000 * _median_seconds(one, length), 3) for n, one in models.items()}
        for length in lengths
    }


def _median_seconds(model, length, clock: Callable[[], float] = time.perf_counter) -> float:
    ones = np.ones(model.input_shape(length), np.int32)
    row = {name: ones * (name != "segment_ids") for name in ENCODER_INPUTS}
    call = timeit.Timer(functools.partial(model.run, row, length), timer=clock)
    usual = min(call.repeat(_WARM_UP, number=1))
    number = min(_MOST, max(_LEAST, int(_SECONDS / max(usual, 1e-9))))
    return statistics.median(call.repeat(number, number=1))
