"""A recipe is a list of commands in a file of shell lines; each runs in its own process, as one types it."""

import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from string import Template

from kbert.cli.progress import activity
from kbert.files.folder_lock import LOCK_FILE, lock_folder
from kbert.files.json_values import shown
from kbert.files.output_path import names_in
from kbert.files.whole_file import is_temporary
from kbert.shipped_configs import configs_directory

FOLDER = configs_directory() / "quickstart"
_MARKER = ".kbert_quickstart"  # a folder with this file is an earlier quickstart and may be replaced
PAGES = ("results.json", "curves.png", "index.html")  # what `from_text` writes beside the files of the steps
_WRITTEN = re.compile(r"\$run/([\w.]+)")
_INDENT = "     "  # of what a step prints
_VALUE = re.compile(r"^(\w+)=(.*)", re.MULTILINE)
_STEP = re.compile(r"^# (.+)\n(kbert (?:.*\\\n)*.*)", re.MULTILINE)


def run_recipe(recipe: str, output_dir: Path, inputs: Iterable[Path] = (), **values: str) -> list[dict]:
    """Runs the steps of a recipe one by one, in an empty folder; an earlier quickstart in it is removed.

    Each step is shown with its title and its command; its output goes to the terminal and to `logs`.

    Args:
      recipe: see `parse_recipe`.
      output_dir: the folder that the steps write to, `$run` in the recipe.
      inputs: files and folders that the steps read, none of them in `output_dir`.
      values: what other names stand for, as in `parse_recipe`.

    Returns:
      For each step a dict with title, command, seconds and log (from `output_dir` on), ready for JSON.

    Raises:
      ValueError: when the folder holds other files or an input, or a step fails; the message then names its
        log. BlockingIOError where another quickstart runs in the folder.
    """
    steps = parse_recipe(
        recipe, run=shlex.quote(str(output_dir)), text=shlex.quote(str(text_folder())), **values
    )
    with _prepared_folder(output_dir, inputs) as lock:
        return _run_steps(steps, output_dir, lock)


def _run_steps(steps, output_dir, lock):
    done: list[dict] = []
    for number, (title, command) in enumerate(steps, start=1):
        print(f"\n[{number:2d}] {title}\n{_INDENT}$ " + command.replace("\n", "\n" + _INDENT), flush=True)
        typed, began = re.sub(r" \\\n *", " ", command), time.monotonic()
        log = output_dir / "logs" / f"{number:02d}_{typed.split()[1]}.log"
        exit_code = _run([sys.executable, "-m", *shlex.split(typed)], log, lock)
        if exit_code:
            raise ValueError(f"step {number} ({title}) failed with exit code {exit_code}; see {log}.")
        seconds, log_path = round(time.monotonic() - began, 1), log.relative_to(output_dir).as_posix()
        done.append({"title": title, "command": typed, "seconds": seconds, "log": log_path})
        print(f"{_INDENT}{seconds} s, {sum(step['seconds'] for step in done):.0f} s so far", flush=True)
    return done


def parse_recipe(recipe: str, **values: str) -> list[tuple[str, str]]:
    """The steps of a recipe: (title, command), the comment above a command and its lines as they are typed.

    Args:
      recipe: the name of a file in configs/quickstart, of shell lines: `name=value`, and commands of kbert
        below a comment, in which `$name` is replaced.
      values: name -> value in place of the recipe's, with the quotes that a shell needs.
    """
    source, known = (FOLDER / recipe).read_text(encoding="utf-8"), {}
    for name, value in _VALUE.findall(source):
        known[name] = values.get(name) or Template(value.strip('"')).substitute(known)
    return _STEP.findall(Template(source).substitute(known))


def text_folder() -> Path:
    """Where text and labels of the quickstart lie; relative where that is below the current folder."""
    text, current = FOLDER / "text", Path.cwd()
    return text.relative_to(current) if text.is_relative_to(current) else text


def _prepared_folder(output_dir, inputs):
    """The lock of the folder, which is made, and holds nothing then but its folder `logs`."""
    output_dir.mkdir(parents=True, exist_ok=True)
    names = names_in(output_dir) - {LOCK_FILE}  # a start that was killed leaves it
    if names and _MARKER not in names:
        raise ValueError(
            f"--output_dir={output_dir} holds other files, such as {shown(sorted(names)[:3])}; choose a new "
            "folder for the quickstart."
        )
    existing = [path for path in inputs if path.exists()]  # the others are names of hubs
    inside = [str(path) for path in existing if path.resolve().is_relative_to(output_dir.resolve())]
    foreign = {name for name in names - _own_names() if not is_temporary(name)}  # of a step that was killed
    if others := sorted({*inside, *foreign}):
        raise ValueError(
            f"--output_dir={output_dir} is an earlier quickstart, which is removed, and {', '.join(others)} "
            "in it would be lost; move that elsewhere, or choose a new folder."
        )
    lock = lock_folder(output_dir)
    if names:
        print(f"removing the earlier quickstart in {output_dir}")
    for name in names - {_MARKER}:
        path = output_dir / name
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (output_dir / _MARKER).touch()
    (output_dir / "logs").mkdir()
    return lock


def _own_names():
    """What the quickstarts write into their folders."""
    sources = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.sh")]
    return {*PAGES, _MARKER, "logs", *(name for text in sources for name in _WRITTEN.findall(text))}


def _run(command, log, lock):
    """Runs a command, writes its output to `log` and to the terminal line by line; its exit code.

    A command that outlives this process, which was killed, holds the folder's lock.
    """
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        pass_fds=(lock.fileno(),),
    )
    with log.open("w", encoding="utf-8") as file, process, activity(None):
        for line in process.stdout:
            file.write(line)
            print(_INDENT + line, end="", flush=True)
    return process.returncode
