"""How much memory this machine's device has for a training. Nothing here imports TensorFlow."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DeviceMemory:
    """The available memory in bytes, and the name of the device for messages."""

    available: int
    device: str


def memory_of_gpu() -> DeviceMemory | None:
    """The total memory of the GPU with the least memory, as nvidia-smi reports it; None without a GPU.

    The free memory would be no good measure: TensorFlow takes nearly all memory of a GPU at its first use.
    GPUs that CUDA_VISIBLE_DEVICES leaves out do not count. Its numbers are taken as nvidia-smi's, which is
    certain where all cards are alike or CUDA_DEVICE_ORDER is PCI_BUS_ID.
    """
    query = ["nvidia-smi", "--query-gpu=index,uuid,memory.total,name", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True).stdout
        cards = [line.split(", ", 3) for line in answer.splitlines() if line.strip()]
        mebibytes, name = min((int(total), name) for *names, total, name in cards if _is_visible(names))
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return DeviceMemory(mebibytes * 2**20, name.strip())


def _is_visible(names) -> bool:
    """Whether CUDA_VISIBLE_DEVICES has a GPU of this [number, UUID]: its number, or how its UUID begins."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return True
    number, uuid = names
    given = [one.strip() for one in visible.split(",")]
    return any(one == number or (one.startswith("GPU-") and uuid.startswith(one)) for one in given)


def memory_of_cpu(root: str | Path = "/") -> DeviceMemory:
    """The main memory that this process can still use: the free memory, or less if a control group limits it.

    Args:
      root: the folder that holds proc and sys; an argument so that tests can set it.
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
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")  # not Linux: the total memory


def _left_in_groups(root):
    """Limit minus use, in bytes, of each control group (v1 or v2) of this process, up to the outermost."""
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
        # In a container the path may be that of the host, while the mounted folder is the group itself.
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
    # The page cache of files counts as used, but the kernel frees it when memory is needed.
    cache = sum(int(line.split()[1]) for line in statistics if line.startswith(f"{cache_name} "))
    return int(limit) - use + cache
