"""The machine that a benchmark runs on, in words and as facts. Standard library only."""

import os
import platform
from collections.abc import Iterable
from pathlib import Path

# Flags of /proc/cpuinfo -> the name of the instructions for products in bfloat16.
_BFLOAT16 = {"avx512_bf16": "AVX512-BF16", "amx_bf16": "AMX", "bf16": "Arm BF16"}


def machine(cpuinfo: str | Path = "/proc/cpuinfo") -> dict:
    """`processor`, its name; `cores` that this process may use; `bfloat16`, the instructions that it has.

    Without the latter, which is an empty list then, bfloat16 is slow.
    """
    name, found = platform.processor() or platform.machine(), set()
    lines = Path(cpuinfo).read_text(encoding="utf-8").splitlines() if Path(cpuinfo).is_file() else []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            name = value.strip()
        elif key.strip() in ("flags", "Features"):
            found |= set(value.split())
    has = [shown for flag, shown in _BFLOAT16.items() if flag in found]
    return {"processor": name, "cores": _usable_cores(), "bfloat16": has}


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """The processor's name, and whether it has bfloat16 instructions: without them bfloat16 is slow."""
    facts = machine()
    return f"{facts['processor']}, {'with' if facts['bfloat16'] else 'without'} bfloat16 instructions"


def fit_for_machine(names: Iterable[str], facts: dict | None = None) -> list[str]:
    """What takes part by default: all, or without bfloat16 instructions all but what says bfloat16.

    PyTorch 2.13 then took 85 times as long for a product in bfloat16 as in float32 (an EPYC with AVX2 alone):
    a benchmark would last for hours.

    Args:
      names: precisions, or contestants with their precision.
      facts: what `machine` gives; by default of this machine.
    """
    has = (facts or machine())["bfloat16"]
    return [name for name in names if has or "bfloat16" not in name]


def in_words(facts: dict | None) -> str:
    """A machine for a caption, for example "AMD EPYC, 2 cores, AVX512-BF16".

    Args:
      facts: what `machine` gives. `bfloat16` is None, and so is all, where nobody wrote it down.
    """
    if facts is None:
        return "machine not recorded"
    cores = f"{facts['cores']} core{'s' * (facts['cores'] != 1)}"
    if facts["bfloat16"] is None:
        return f"{facts['processor']}, {cores}"
    return f"{facts['processor']}, {cores}, {' and '.join(facts['bfloat16']) or 'no bfloat16 instructions'}"
