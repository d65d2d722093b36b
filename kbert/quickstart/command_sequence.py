"""Runs commands one after the other, each in its own process, as a user would type them."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from kbert.commands import command_of
from kbert.log_lines import WIDTH, shortened

_MARKER = ".kbert_quickstart"  # a folder with this file is an earlier quickstart and may be replaced
_INDENT = "     "  # of what a step prints


def prepare_folder(directory: Path):
    """Makes the folder of a quickstart, empty but for its folder `logs`; an earlier quickstart is removed.

    Raises:
      ValueError: when the folder holds anything else.
    """
    if directory.exists() and any(directory.iterdir()):
        if not (directory / _MARKER).is_file():
            raise ValueError(
                f"--directory={directory} holds other files; choose a new folder for the quickstart."
            )
        print(f"removing the earlier quickstart in {directory}")
        shutil.rmtree(directory)
    (directory / "logs").mkdir(parents=True, exist_ok=True)
    (directory / _MARKER).touch()


class CommandSequence:
    """Runs the steps of the quickstart one by one. Each step is one command.

    Args:
      directory: the folder that the steps write to; their output goes to the folder `logs` in it.

    Attributes:
      directory, logs: the two folders.
      steps: for each step so far a dict with title, command, seconds and log file, ready for JSON.
    """

    def __init__(self, directory: Path):
        self.directory, self.logs = directory, directory / "logs"
        self.steps = []
        self._began = time.monotonic()

    def step(self, title: str, module: str, *arguments: str) -> str:
        """Runs a module as `python -m` does, shown as its command of kbert; returns its output.

        Raises:
          ValueError: when the command fails; the message names its log.
        """
        number = len(self.steps) + 1
        words = [*(command_of(module) or f"python -m {module}").split(), *map(_quoted, arguments)]
        log = self.logs / f"{number:02d}_{module.rpartition('.')[2]}.log"
        print(f"\n[{number:2d}] {title}\n{_INDENT}$ {_typed(words)}", flush=True)
        began = time.monotonic()
        exit_code, output = _run([sys.executable, "-m", module, *arguments], log)
        seconds = time.monotonic() - began
        if exit_code:
            raise ValueError(f"step {number} ({title}) failed with exit code {exit_code}; see {log}.")
        self.steps.append(
            {
                "title": title,
                "command": " ".join(words),
                "seconds": round(seconds, 1),
                "log": str(log.relative_to(self.directory)),
            }
        )
        print(f"{_INDENT}{seconds:.1f} s, {self.total_seconds:.0f} s so far", flush=True)
        return output

    @property
    def total_seconds(self) -> float:
        """Seconds since this object was made."""
        return time.monotonic() - self._began


def _run(command, log):
    """Runs a command, writes its output to `log` and to the terminal line by line; (exit code, output)."""
    lines = []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    with log.open("w", encoding="utf-8") as file, process:
        for line in process.stdout:
            file.write(line)
            lines.append(line)
            print(_INDENT + shortened(line.rstrip("\n"), WIDTH - len(_INDENT)), flush=True)
    return process.returncode, "".join(lines)


def _typed(words):
    """A command in lines that a shell takes as one; no word is broken."""
    room, lines = WIDTH - len(_INDENT) - len("$  \\"), [words[0]]
    for word in words[1:]:
        fits = len(lines[-1]) + 1 + len(word) <= room
        lines[-1:] = [f"{lines[-1]} {word}"] if fits else [lines[-1], word]
    return f" \\\n{_INDENT}  ".join(lines)


def _quoted(argument):
    return f"'{argument}'" if any(c in argument for c in " []*") else argument
