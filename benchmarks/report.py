"""What every benchmark prints: the machine, a Markdown table, and at its end one line of JSON."""

import datetime
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks import REPOSITORY

# Flags of /proc/cpuinfo -> the name of the instructions for products in bfloat16.
_BFLOAT16 = {"avx512_bf16": "AVX512-BF16", "amx_bf16": "AMX", "bf16": "Arm BF16"}
# Flags that say where things lie on this machine.
_NOT_SHOWN = ("--data_dir=",)


def machine(cpuinfo: str | Path = "/proc/cpuinfo") -> str:
    """For example "AMD EPYC, 2 cores, AVX512-BF16": the cores that this process may use, and GPUs.

    Linux only.
    """
    text = Path(cpuinfo).read_text(encoding="utf-8")
    name = re.search(r"^model name\s*: *(.*)$", text, re.MULTILINE)
    found = [shown for flag, shown in _BFLOAT16.items() if flag in text.split()]
    instructions = " and ".join(found) or "no bfloat16 instructions"
    cores = len(os.sched_getaffinity(0))
    return ", ".join([name[1] if name else "unknown processor", f"{cores} cores", instructions, *_gpus()])


def _gpus() -> list[str]:
    """The names of NVIDIA's GPUs."""
    if shutil.which("nvidia-smi") is None:
        return []
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True).stdout.splitlines()


def fit_for_machine(names: Iterable[str], of_machine: str | None = None) -> list[str]:
    """What takes part by default: all, or without bfloat16 instructions all but what says bfloat16.

    PyTorch 2.13 then took 85 times as long for a product in bfloat16 as in float32 (an EPYC with AVX2 alone):
    a benchmark would last for hours.

    Args:
      names: precisions, or contestants with their precision.
      of_machine: what `machine` gives; by default of this machine.
    """
    is_slow = "no bfloat16 instructions" in (of_machine or machine())
    return [name for name in names if not (is_slow and "bfloat16" in name)]


def markdown(heads: Iterable[str], rows: Iterable[Iterable]) -> str:
    """A Markdown table; numbers are aligned to the right."""
    heads = list(heads)
    lines = [heads, ["---", *(["---:"] * (len(heads) - 1))], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def beside_best_peer(speeds: dict[str, float]) -> str:
    """A sentence: kbert's best configuration beside the best one of the best peer.

    Args:
      speeds: contestant -> its speed, more is better; kbert's names begin with "kbert".
    """
    ours = [name for name in speeds if name.startswith("kbert")]
    peers = [name for name in speeds if name not in ours]
    if not ours or not peers:
        return "nobody to compare kbert with"
    best, rival = (max(names, key=lambda name: speeds[name]) for names in (ours, peers))
    return f"{best} is {speeds[best] / speeds[rival]:.2f} times as fast as the best peer, {rival}"


def close(benchmark: str, rows: dict[str, dict], **facts):
    """Prints the closing line: date, commit, machine, command and figures.

    Args:
      benchmark: its name, that of its module.
      rows: name of a contestant -> its figures.
      facts: what the line has besides.
    """
    arguments = [one for one in sys.argv[1:] if not one.startswith(_NOT_SHOWN)]
    line = {
        "benchmark": benchmark,
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "command": f"python -m benchmarks.{benchmark} {shlex.join(arguments)}".strip(),
        "rows": rows,
    }
    print(json.dumps(line | facts))


def commit() -> str | None:
    """The commit that is measured, with "+" behind it where files have changed since; None without git."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    return found.stdout.strip() or None
