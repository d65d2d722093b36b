"""Writes the reference of the site, docs/reference/: Python, commands, settings, variables, keys of folders.

`make docs` runs this before the site is built. The pages are not stored in the repository: they cannot drift.
The page of Python holds names alone; mkdocstrings fills in their docstrings when the site is built.
"""

import dataclasses
import inspect
import json
import re
import subprocess
import sys
import types
import typing
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

import kbert  # noqa: E402
from kbert.checkpoints.conversion import names  # noqa: E402
from kbert.checkpoints.hugging_face.families import FAMILIES  # noqa: E402
from kbert.checkpoints.hugging_face.folder_keys import config_keys  # noqa: E402
from kbert.checkpoints.hugging_face.key_table import FOLDER_KEYS, OTHER_FILES  # noqa: E402
from kbert.checks import declared_values  # noqa: E402
from kbert.cli.commands import COMMANDS  # noqa: E402
from kbert.config import FinetuningConfig, PretrainingConfig  # noqa: E402
from kbert.config.training_config import TrainingConfig  # noqa: E402
from kbert.tasks import TASKS  # noqa: E402

OPTIONS = "    options: {show_root_heading: true, show_source: false, heading_level: 2}"


def python_page() -> str:
    """Every public name; `mkdocstrings` reads the docstrings from the source."""
    names = (f"::: {module}.{name}\n{OPTIONS}\n" for name, module in kbert._PUBLIC.items())
    return "\n".join(["# Python, name by name\n", *names])


def commands_page() -> str:
    """What `kbert COMMAND --help` prints, for every command."""
    lines = ["# Commands, flag by flag", ""]
    for heading, commands in COMMANDS.items():
        lines += [f"## {heading.capitalize()}", ""]
        for command, (_, about) in commands.items():
            lines += [f"### kbert {command}", "", f"{about}.", "", "```text", help_text(command), "```", ""]
    return "\n".join(lines)


def help_text(command: str) -> str:
    """What the command prints about itself; an error when it fails."""
    words = [sys.executable, "-m", "kbert", command, "--help"]
    return subprocess.run(words, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.rstrip()


def settings_page() -> str:
    """Every dataclass that a config may hold, and the `task_settings` of every task."""
    lines = ["# Settings, key by key", "", "`null` stands for a key that is left out.", ""]
    for config_class in config_classes():
        lines += section(config_class.__name__, config_class)
    lines += ["# Settings of one task", ""]
    for name in TASKS:
        lines += section(f'task = "{name}"', TASKS[name].settings_class)
    return "\n".join(lines)


def config_classes() -> list[type]:
    """What every run has, the two configs, and each dataclass inside them, once."""
    classes = [TrainingConfig, PretrainingConfig, FinetuningConfig]
    for config_class in classes:  # grows while it is read
        for field in dataclasses.fields(config_class):
            classes += [inner for inner in dataclasses_in(field.type) if inner not in classes]
    return classes


def dataclasses_in(annotation) -> list[type]:
    """The dataclasses that an annotation names: `A`, `A | None`, `tuple[A, ...]`."""
    parts = getattr(annotation, "__args__", (annotation,))
    return [part for part in parts if isinstance(part, type) and dataclasses.is_dataclass(part)]


def section(title: str, config_class: type) -> list[str]:
    """The docstring of a dataclass and those it inherits from, and a row for each field."""
    parents = [parent for parent in config_class.__mro__ if dataclasses.is_dataclass(parent)]
    if config_class is not TrainingConfig and TrainingConfig in parents:
        parents.remove(TrainingConfig)  # it has a section of its own
    names = {name for parent in parents for name in parent.__annotations__}
    hints, declared = typing.get_type_hints(config_class), declared_values(config_class)
    rows = [
        f"| `{field.name}` | `{written_type(hints[field.name])}` | {written_default(field)} "
        f"| {written_values(*declared.get(field.name, ((), None))[:2])} |"
        for field in dataclasses.fields(config_class)
        if field.name in names
    ]
    table = ["| key | type | default | values |", "|---|---|---|---|", *rows, ""] if rows else []
    return [f"## {title}", "", "\n\n".join(inspect.getdoc(parent) or "" for parent in parents), "", *table]


def written_type(annotation) -> str:
    """A type without the names of modules; a pipe would end the cell of a table."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        return " or ".join(map(written_type, typing.get_args(annotation)))
    if typing.get_origin(annotation) is typing.Literal:
        return "str"
    name = annotation.__name__ if type(annotation) is type else str(annotation)
    return re.sub(r"\w+\.(?=\w)", "", name).replace("NoneType", "None")


def written_values(choices: tuple, bounds) -> str:
    """What a value may be."""
    return ", ".join(choices) or str(bounds or "")


def written_default(field: dataclasses.Field) -> str:
    """A default as JSON has it; "table" for a table of its own."""
    if dataclasses.is_dataclass(field.type):
        return "table"
    if field.default_factory is not dataclasses.MISSING:
        return f"`{json.dumps(field.default_factory())}`"
    return "required" if field.default is dataclasses.MISSING else f"`{json.dumps(field.default)}`"


def variables_page() -> str:
    """What each variable of kbert is called in every format."""
    lines = ["# Names of variables", "", "ᵀ: the two axes are exchanged there.", ""]
    tables = {"Google TF1": names.GOOGLE_TF1, "Model Garden": names.MODEL_GARDEN, "KerasHub": names.KERAS_HUB}
    for title, table in tables.items():
        lines += [f"## {title}", "", *name_rows(table)]
    for model_type, family in FAMILIES.items():
        about = f"With a head, the encoder's names begin with `{family.prefix}`."
        if family.after_padding:
            about += " In a classifier `pooler/dense` is `classifier.dense`."
        lines += [f"## Hugging Face: {model_type}", "", about, "", *name_rows(family.table)]
    return "\n".join(lines)


def name_rows(table: dict[str, tuple[names.NameRow, ...]]) -> list[str]:
    """A table of kbert's names and those of another format."""
    rows = [row for part in table.values() for row in part]
    lines = [f"| `{row.kbert}` | `{row.outside}`{' ᵀ' * row.transposed} |" for row in rows]
    return ["| kbert | there |", "|---|---|", *lines, ""]


def folder_keys_page() -> str:
    """What kbert does about each key of each file of a Hugging Face or sentence-transformers folder."""
    lines = [
        "# Keys of a folder",
        "",
        "What kbert does about each key that the files of a folder of transformers or sentence-transformers "
        "may hold. "
        "A refused key is refused with a value that changes answers, before any weight is read; "
        "`--allow_unmatched=KEY` goes on without it, where that is not said to be impossible. A key that is "
        "not here "
        "is named in a warning.",
        "",
    ]
    tables = dict(FOLDER_KEYS)
    tables |= {f"config.json: {model_type}": config_keys(model_type) for model_type in FAMILIES}
    for title, keys in tables.items():
        lines += [f"## {title}", "", "| key | kbert | |", "|---|---|---|"]
        for name, key in sorted(keys.items()):
            use = f"always {key.use}" if key.always else key.use
            harmless = "".join(f"; `{json.dumps(value)}` is no difference" for value in key.harmless)
            lines.append(f"| `{name}` | {use} | {key.about}{harmless} |")
        lines.append("")
    lines += ["## Other files", "", "| file | kbert | |", "|---|---|---|"]
    lines += [f"| {names} | {key.use} | {key.about} |" for names, key in OTHER_FILES.items()]
    return "\n".join([*lines, ""])


def main() -> None:
    folder = REPOSITORY / "docs" / "reference"
    folder.mkdir(exist_ok=True)
    pages = {
        "python": python_page,
        "commands": commands_page,
        "settings": settings_page,
        "variables": variables_page,
        "folder_keys": folder_keys_page,
    }
    for name, page in pages.items():
        (folder / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
