"""How much memory the device at hand has left for a training. Nothing here imports TensorFlow."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes, and in words of what."""

    available: int
    device: str


def memory_of_gpu() -> DeviceMemory | None:
    """The smallest GPU's whole memory, as the driver's nvidia-smi tells it; None where there is none.

    TensorFlow takes nearly all of it at its first use, so what is free then says nothing later.
    """
    query = ["nvidia-smi", "--query-gpu=memory.total,name", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
        cards = [line.split(", ", 1) for line in answer.splitlines() if line.strip()]
        mebibytes, name = min((int(total), name) for total, name in cards)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return DeviceMemory(mebibytes * 2**20, name.strip())


def memory_of_cpu(root: str | Path = "/") -> DeviceMemory:
    """What this process may still take of main memory: what is free, or less where its control group ends.

    Args:
      root: where /proc and /sys begin; an argument so that tests can set it.
    """
    root = Path(root)
    free = _free_memory(root / "proc" / "meminfo")
    left = [bytes_ for bytes_ in _left_in_groups(root) if bytes_ < free]
    if left:
        return DeviceMemory(max(0, min(left)), "this CPU's control group")
    return DeviceMemory(free, "this CPU")


def _free_memory(meminfo):
    try:
        for line in meminfo.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # not Linux: all there is


def _left_in_groups(root):
    """Limit minus use of the process's control groups, of both versions, up to the outermost."""
    try:
        lines = (root / "proc" / "self" / "cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return
    mounted = root / "sys" / "fs" / "cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            base, names = mounted, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base = mounted / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        folder = base / path.strip("/")
        # In a container the path may be that of the host, and what is mounted is the group itself.
        for group in (folder, *folder.parents) if folder.is_relative_to(base) else (base,):
            left = _left_in_group(group, *names)
            if left is not None:
                yield left
            if group == base:
                break


def _left_in_group(group, limit_file, use_file, cache_name):
    try:
        limit = (group / limit_file).read_text(encoding="ascii").strip()
        use = int((group / use_file).read_text(encoding="ascii"))
        statistics = (group / "memory.stat").read_text(encoding="ascii").split("\n")
    except OSError:
        return None
    if limit == "max":
        return None
    # Pages of files that were read make room when they must.
    cache = sum(int(line.split()[1]) for line in statistics if line.startswith(f"{cache_name} "))
    return int(limit) - use + cache
