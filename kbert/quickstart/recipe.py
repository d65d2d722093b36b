"""A recipe is a list of commands in a file of shell lines; each runs in its own process, as one types it."""

import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from string import Template

from kbert.cli.progress import activity
from kbert.shipped_configs import configs_directory

FOLDER = configs_directory() / "quickstart"
_MARKER = ".kbert_quickstart"  # a folder with this file is an earlier quickstart and may be replaced
_INDENT = "     "  # of what a step prints
_VALUE = re.compile(r"^(\w+)=(.*)", re.MULTILINE)
_STEP = re.compile(r"^# (.+)\n(kbert (?:.*\\\n)*.*)", re.MULTILINE)


def run_recipe(recipe: str, output_dir: Path, **values: str) -> list[dict]:
    """Runs the steps of a recipe one by one, in an empty folder; an earlier quickstart in it is removed.

    Each step is shown with its title and its command; its output goes to the terminal and to `logs`.

    Args:
      recipe: see `parse_recipe`.
      output_dir: the folder that the steps write to, `$run` in the recipe.
      values: what other names stand for, as in `parse_recipe`.

    Returns:
      For each step a dict with title, command, seconds and log (from `output_dir` on), ready for JSON.

    Raises:
      ValueError: when the folder holds other files, or a step fails; the message then names its log.
    """
    done: list[dict] = []
    steps = parse_recipe(
        recipe, run=shlex.quote(str(output_dir)), text=shlex.quote(str(text_folder())), **values
    )
    _prepare_folder(output_dir)
    for number, (title, command) in enumerate(steps, start=1):
        print(f"\n[{number:2d}] {title}\n{_INDENT}$ " + command.replace("\n", "\n" + _INDENT), flush=True)
        typed, began = re.sub(r" \\\n *", " ", command), time.monotonic()
        log = output_dir / "logs" / f"{number:02d}_{typed.split()[1]}.log"
        exit_code = _run([sys.executable, "-m", *shlex.split(typed)], log)
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


def _prepare_folder(output_dir):
    """Makes the folder, empty but for its folder `logs`."""
    if output_dir.exists() and any(output_dir.iterdir()):
        if not (output_dir / _MARKER).is_file():
            raise ValueError(
                f"--output_dir={output_dir} holds other files; choose a new folder for the quickstart."
            )
        print(f"removing the earlier quickstart in {output_dir}")
        shutil.rmtree(output_dir)
    (output_dir / "logs").mkdir(parents=True, exist_ok=True)
    (output_dir / _MARKER).touch()


def _run(command, log):
    """Runs a command, writes its output to `log` and to the terminal line by line; its exit code."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    with log.open("w", encoding="utf-8") as file, process, activity(None):
        for line in process.stdout:
            file.write(line)
            print(_INDENT + line, end="", flush=True)
    return process.returncode
