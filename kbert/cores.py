"""How many cores there are for this process. Standard library only."""

import contextlib
import math
import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")  # of a container, its own


def num_cores() -> int:
    """The cores that this process may use: its affinity, and a container's limit, rounded up."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(cores, _limit())))


def _limit() -> float:
    """Cores that a control group allows (docs.kernel.org: admin-guide/cgroup-v2, scheduler/sched-bwc)."""
    with contextlib.suppress(OSError, ValueError):  # "max" is no number
        quota, period = map(int, (_GROUP / "cpu.max").read_text().split())
        return quota / period
    with contextlib.suppress(OSError, ValueError):
        quota, period = (int((_GROUP / f"cpu/cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
        return quota / period if quota > 0 else math.inf
    return math.inf
