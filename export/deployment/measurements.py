"""What a served model takes: milliseconds at several batch sizes, and memory.

Measured in a process of its own, which loads the folder through the session loader, replays the requests to
warm up with, as a server does, and then asks `serving_default` again and again.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from kbert.cores import num_cores

from ..folder_names import EXTRA_FOLDER
from ..gate import saved_model_session
from . import warmup_requests
from .docker_line import ENVIRONMENT

_SECONDS = 1.0  # of asking, for each batch size
_FEWEST, _MOST = 3, 50  # times that a request is asked
_LENGTH = 64  # tokens: the requests that are timed are the longest up to this, or the shortest of all


def measure(directory: Path, requests) -> dict:
    """Measures an export in another process.

    Args:
      directory: a SavedModel with requests to warm up with in assets.extra.
      requests: the (signature, batch size, tokens) of each of them, in their order.

    Returns:
      dict: milliseconds, batch size as a string -> the median; num_tokens of the texts that were timed,
        num_threads, resident_bytes with all signatures loaded and warm, resident_bytes_without before the
        loading (Python and TensorFlow), load_seconds and warmup_seconds.

    Raises:
      ValueError: with the end of the process' words, when a request fails.
    """
    length, timed = _timed(requests)
    command = [sys.executable, "-m", f"{__package__}.measurements", str(directory), json.dumps(timed)]
    result = subprocess.run(command, capture_output=True, text=True, env=_environment())
    if result.returncode:
        raise ValueError(
            f"{directory} cannot be served: a process that loads it and replays its warm-up requests ended "
            f"with {result.returncode}: {result.stderr[-2000:]}"
        )
    return json.loads(result.stdout.splitlines()[-1]) | {"num_tokens": length, "num_threads": num_cores()}


def _timed(requests) -> tuple[int, dict[str, int]]:
    """(tokens, {batch size: which request}) of what is timed."""
    default = [(*sizes, index) for index, (name, *sizes) in enumerate(requests) if name == "serving_default"]
    lengths = {length for _, length, _ in default}
    length = max((candidate for candidate in lengths if candidate <= _LENGTH), default=min(lengths))
    return length, {str(size): index for size, tokens, index in default if tokens == length}


def _environment():
    """This process' environment with the server's, and the place that `export` was imported from."""
    root = str(Path(__file__).resolve().parents[__package__.count(".") + 1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return os.environ | ENVIRONMENT | {"PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "2"}


def resident_bytes() -> int:
    """The memory of this process; where the system does not tell, the most that it ever was."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def _measured(directory: Path, timed: dict[str, int]) -> dict:
    """What `measure` returns, of this process; `timed`: batch size -> which request."""
    before, start = resident_bytes(), time.perf_counter()
    session = saved_model_session.SavedModelSession(str(directory))
    loaded = time.perf_counter()
    requests = list(warmup_requests.read_warmup_requests(directory / EXTRA_FOLDER))
    for signature, inputs in requests:
        session.run(signature, inputs)
    warm, memory = time.perf_counter(), resident_bytes()

    return {
        "milliseconds": {
            size: _median_ms(lambda request=requests[index]: session.run(*request))
            for size, index in timed.items()
        },
        "resident_bytes": memory,
        "resident_bytes_without": before,
        "load_seconds": loaded - start,
        "warmup_seconds": warm - loaded,
    }


def _median_ms(ask) -> float:
    times, end = [], time.perf_counter() + _SECONDS
    while len(times) < _FEWEST or (len(times) < _MOST and time.perf_counter() < end):
        start = time.perf_counter()
        ask()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


if __name__ == "__main__":
    print(json.dumps(_measured(Path(sys.argv[1]), json.loads(sys.argv[2]))))
