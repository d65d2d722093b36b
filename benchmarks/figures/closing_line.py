"""The line of JSON that a benchmark ends with: what, when, where, of which commit, and the figures."""

import datetime
import json
import shlex
import subprocess
import sys
from pathlib import Path

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.figures.machine import machine, processor
from benchmarks.figures.records import BENCHMARK, check_record
from kbert.files.whole_file import write_text

# Flags whose values are of one machine, or that do not change what is measured.
_NOT_SHOWN = ("--figures_file=", "--html=", "--data_dir=")
_NOT_SHOWN_ENDS = ("_python",)


def define_flag():
    """Defines `--figures_file`."""
    flags.DEFINE_string(
        "figures_file",
        None,
        "Append the closing line to this file, such as docs/figures/serving_minilm.jsonl; then "
        "`python -m benchmarks.figures.write_tables` writes the tables of the pages.",
    )


def require_one_table(num_tables: int):
    """Raises ValueError for `--figures_file` where several tables are to be measured."""
    if num_tables > 1 and (path := _figures_file()):
        raise ValueError(
            f"--figures_file={path} takes one table, but {num_tables} are to be measured; choose one of them "
            "by the flags."
        )


def _figures_file() -> str | None:
    return flags.FLAGS["figures_file"].value if "figures_file" in flags.FLAGS else None


def close(benchmark: str, facts: dict, rows: dict[str, dict] | None = None):
    """Prints the closing line, and appends it to `--figures_file` if that is given.

    Args:
      benchmark: its name, that of its module.
      facts: what the line has besides date, machine, commit and command.
      rows: name of a contestant -> its figures, for tables; None where the benchmark has run several times
        at once, in ways that are no rows of one table.

    Raises:
      ValueError: for `--figures_file` without rows.
    """
    line = record(benchmark, facts, rows)
    print(json.dumps(line))
    path = _figures_file()
    if path and rows is None:
        raise ValueError(f"--figures_file={path}: {benchmark} has no table that a page shows.")
    if path:
        append(line, path)


def record(benchmark: str, facts: dict, rows: dict | None, today: str | None = None) -> dict:
    """The closing line as a dict; `today` is for tests."""
    return {
        "benchmark": benchmark,
        "date": today or datetime.date.today().isoformat(),
        "machine": machine(),
        "processor": processor(),
        "commit": commit(),
        "command": command(benchmark, sys.argv[1:]),
        "origin": BENCHMARK,
        **({} if rows is None else {"rows": rows}),
        **facts,
    }


def append(line: dict, path: str | Path):
    """Appends a checked record to a file of records; a reader never sees half of it."""
    line = json.loads(json.dumps(line))
    check_record(line, path)
    path = Path(path)
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    write_text(before + json.dumps(line, ensure_ascii=False) + "\n", path)


def command(benchmark: str, arguments: list[str]) -> str:
    """The command, without flags that say where things lie on this machine."""
    shown = [
        one
        for one in arguments
        if not one.startswith(_NOT_SHOWN) and not one.partition("=")[0].endswith(_NOT_SHOWN_ENDS)
    ]
    return f"python -m benchmarks.{benchmark} {shlex.join(shown)}".strip()


def commit() -> str | None:
    """The commit that is measured, with "+" behind it where files have changed since; None without git."""
    try:
        found = _git("rev-parse", "--short", "HEAD")
        return found + "+" * bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments) -> str:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, check=True, capture_output=True, text=True)
    return done.stdout.strip()
