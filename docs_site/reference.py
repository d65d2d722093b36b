"""The pages of the site that are written from the code: `python -m docs_site.reference FOLDER`.

Commands are their `--help`. Of Python and of settings a page has the names alone: mkdocstrings then reads
signatures, defaults and docstrings from the source, without importing it.
"""

import dataclasses
import subprocess
import sys
from pathlib import Path

import kbert
from kbert import config
from kbert.cli import quiet_tensorflow  # noqa: F401  the tasks import TensorFlow
from kbert.cli.commands import COMMANDS
from kbert.tasks import TASKS


def write_pages(folder: Path):
    """Writes `commands.md`, `python.md` and `settings.md` into the folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"commands": commands_page(), "python": python_page(), "settings": settings_page()}
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def commands_page() -> str:
    """Every command with what `kbert COMMAND --help` prints."""
    lines = ["# Commands", "", "What `kbert COMMAND --help` prints."]
    for heading, commands in COMMANDS.items():
        lines += ["", f"## {heading.capitalize()}"]
        for command in commands:
            lines += ["", f"### kbert {command}", "", "````text", help_text(command), "````"]
    return "\n".join(lines) + "\n"


def help_text(command: str) -> str:
    line = [sys.executable, "-m", "kbert", command, "--help"]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.rstrip()


def python_page() -> str:
    """Every public name of `kbert`."""
    lines = ["# Python, name by name", "", "[kbert in Python](../api.md) has examples."]
    for name, module in kbert._PUBLIC.items():
        lines += section(f"kbert.{name}", f"{module}.{name}")
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    """Every dataclass of a config, then those of `task_settings` with the tasks that have them."""
    lines = ["# Settings, key by key", "", "[Settings](../settings.md) says how they are written."]
    for settings in config_classes():
        lines += section(settings.__name__, full_name(settings), "members: false")
    lines += ["", "## task_settings", ""]
    for settings, tasks in task_settings().items():
        users = "Of " + ", ".join(f"`{task}`" for task in tasks) + "."
        lines += section(settings.__name__, full_name(settings), "members: false", level=3, text=users)
    return "\n".join(lines) + "\n"


def config_classes() -> list[type]:
    """The dataclasses that a config is made of."""
    values = [getattr(config, name) for name in config.__all__]
    return [value for value in values if dataclasses.is_dataclass(value)]


def task_settings() -> dict[type, list[str]]:
    """Dataclass with keys of its own -> the tasks that have these keys."""
    tasks: dict[type, list[str]] = {}
    for name, task in TASKS.items():
        for settings in task.settings_class.__mro__:
            if settings.__dict__.get("__annotations__"):
                tasks.setdefault(settings, []).append(name)
    return tasks


def full_name(settings: type) -> str:
    return f"{settings.__module__}.{settings.__name__}"


def section(title: str, name: str, *options: str, level: int = 2, text: str = "") -> list[str]:
    """A heading and the line that mkdocstrings replaces."""
    shown = ", ".join(["show_root_heading: false", *options])
    heading = f"{'#' * level} {title}"
    return ["", heading, "", *([text, ""] if text else []), f"::: {name}", f"    options: {{{shown}}}"]


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
