"""What is wrong with a shown command: its script, flags, config, overrides, targets, paths or program."""

import functools
import importlib
import re

from absl import flags

from kbert.cli.commands import modules
from kbert.cli.flags import named_positions
from kbert.config import FinetuningConfig, PretrainingConfig, load_config
from tests.docs.script_flags import OF_EVERY_SCRIPT, flags_of, is_required, script_file
from tests.places import REPOSITORY

# Programs and modules of others that pages may show; nothing of theirs is checked.
OTHERS = {"pip", "cd", "curl", "docker", "echo", "head", "awk", "."}
OTHER_MODULES = {"pip", "venv", "http.server"}
OTHER_SCRIPTS = {"evaluate-v2.0.py"}  # SQuAD's official one
# Words that stand for a value of the reader's own, or for what is left out.
_LEFT_OUT = "..."
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_0-9]*|.*\.\.\..*|<.*>")


def faults(words: list[str], is_complete: bool) -> list[str]:
    """Sentences, one for each thing that is wrong.

    Args:
      words: the command, split as a shell does.
      is_complete: whether flags that must be given are expected; a mention in prose leaves them out.
    """
    first, rest = words[0], words[1:]
    first = re.sub(r"^python[\d.]+$", "python", first.removeprefix(".venv/bin/"))
    if first == "kbert":
        return _command_faults(rest, is_complete)
    if first == "python":
        return _python_faults(rest, is_complete)
    if first == "make":
        return [f"no target {word}" for word in rest if "=" not in word and word not in make_targets()]
    if first == "pytest":
        return _pytest_faults(rest)
    return [] if first in OTHERS else [f"unknown program {first}"]


@functools.cache
def make_targets() -> set[str]:
    """The targets of the Makefile that a person may ask for."""
    text = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    return set(phony.split())


def _command_faults(words, is_complete):
    if not words or words[0] in ("--help", "--version", "COMMAND"):
        return []
    module = modules().get(words[0])
    return script_faults(module, words[1:], is_complete) if module else [f"no command kbert {words[0]}"]


def _python_faults(words, is_complete):
    if words[:1] == ["-c"]:
        compile(words[1], "python -c", "exec")
        return []
    if words[0] in OTHER_SCRIPTS:
        return []
    if words[:1] != ["-m"] or len(words) < 2:
        return [f"unknown form: python {' '.join(words)}"]
    module, rest = words[1], words[2:]
    if module == "kbert":
        return _command_faults(rest, is_complete)
    if module == "pytest":
        return _pytest_faults(rest)
    if (REPOSITORY / module.replace(".", "/") / "__main__.py").is_file():
        return []  # a tool of the tests, with flags of its own
    return [] if module in OTHER_MODULES else script_faults(module, rest, is_complete)


def _pytest_faults(words):
    paths = [word.partition("::")[0] for word in words if word.startswith("tests")]
    return [f"{path} does not exist" for path in paths if not (REPOSITORY / path).exists()]


def script_faults(module: str, words: list[str], is_complete: bool) -> list[str]:
    """The faults of a script's flags, config and overrides."""
    if module == "MODULE":
        return []
    if script_file(module) is None:
        return [f"no script {module}"]
    words = named_positions(words, getattr(importlib.import_module(module), "POSITIONS", ()))
    known, values, found = flags_of(module), {}, []
    for word in words:
        if word == _LEFT_OUT:
            is_complete = False
            continue
        name, separator, value = word.removeprefix("--").partition("=")
        if name in OF_EVERY_SCRIPT:
            is_complete = False
            continue
        flag = known.get(name, known.get(name.removeprefix("no")))
        if not word.startswith("--") or flag is None:
            found.append(f"{module} has no flag {word}")
            continue
        values.setdefault(name, []).append(value)
        if is_complete and not separator and not flag.boolean:
            found.append(f"{module}: {word} needs a value")
        found += _value_faults(word, flag, value)
    found += [
        f"{module}: --{name} is there twice"
        for name, given in values.items()
        if len(given) > 1 and not isinstance(known.get(name), flags.MultiFlag)
    ]
    if is_complete:
        missing = [name for name, flag in known.items() if is_required(flag) and name not in values]
        found += [f"{module}: --{name} is missing" for name in missing]
    return found + _config_faults(module, values)


def _value_faults(word, flag, value):
    if not value or _PLACEHOLDER.fullmatch(value):
        return []
    is_choice = hasattr(flag.parser, "enum_values")  # a page may show several: auto|on|off
    try:
        for one in re.split(r"[|,]", value) if is_choice else [value]:
            flag.parser.parse(one)
    except ValueError as error:
        return [f"{word}: {error}"]
    return []


def _config_faults(module, values):
    """A config of ours exists and takes the overrides; of the reader's own, any of ours takes them."""
    config = values.get("config", [""])[0]
    overrides = [value for value in values.get("override", []) if value and not _PLACEHOLDER.fullmatch(value)]
    if config.startswith("configs/") and not _PLACEHOLDER.fullmatch(config):
        if not (REPOSITORY / config).is_file():
            return [f"{config} does not exist"]
        return _load_faults([config], overrides)
    kind = "pretraining" if module == "kbert.scripts.run_pretraining" else "finetuning"
    return _load_faults([f"configs/{kind}/smoke.toml"], overrides) if overrides else []


def override_faults(override: str) -> list[str]:
    """The faults of `--override=...` without a script: some config must take it."""
    configs = ["pretraining/smoke.toml", "pretraining/smoke_two_phase.toml", "finetuning/smoke.toml"]
    return _load_faults([f"configs/{config}" for config in configs], [override])


def _load_faults(configs, overrides):
    errors = []
    for config in configs:
        config_class = PretrainingConfig if "/pretraining/" in config else FinetuningConfig
        try:
            load_config(config_class, REPOSITORY / config, overrides, vocab_size=30522)
            return []
        except ValueError as error:
            errors.append(str(error))
    return errors[-1:]
