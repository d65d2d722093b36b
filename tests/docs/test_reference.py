"""The pages of the site that are written from the code: nothing is missing, and every key has its meaning."""

import dataclasses
import inspect
import re
import typing

import pytest

import kbert
from docs_site.reference import commands_page, config_classes, python_page, settings_page, task_settings
from kbert.cli.commands import modules
from kbert.config import FinetuningConfig, PretrainingConfig
from kbert.tasks import TASKS
from tests.docs.script_flags import flags_of

DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
SETTINGS = [*config_classes(), *task_settings()]


def described(settings):
    """Key -> what the `Args` of the docstring say of it."""
    arguments = inspect.getdoc(settings).partition("Args:\n")[2].partition("\n\n")[0]
    return dict(re.findall(r"^  (\w+): (\S.*)$", arguments, re.MULTILINE))


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.__name__)
def test_every_key_of_a_config_is_described_once(settings):
    inherited = {field for parent in settings.__mro__[1:] for field in getattr(parent, "__annotations__", ())}
    own = [field.name for field in dataclasses.fields(settings) if field.name not in inherited]
    assert list(described(settings)) == own


def dataclasses_inside(hint):
    """A dataclass and those that its fields hold."""
    if dataclasses.is_dataclass(hint):
        inner = typing.get_type_hints(hint).values()
        return {hint}.union(*map(dataclasses_inside, inner))
    return set().union(*map(dataclasses_inside, typing.get_args(hint)))


def test_the_page_of_settings_has_everything_that_a_config_may_hold():
    held = dataclasses_inside(PretrainingConfig | FinetuningConfig)
    held |= {task.settings_class for task in TASKS.values() if dataclasses.fields(task.settings_class)}
    named = set(DIRECTIVE.findall(settings_page()))
    bare = {f"{one.__module__}.{one.__name__}" for one in held} - named
    assert bare == set() and len(named) >= 15


def test_the_page_of_python_has_every_public_name():
    names = [name.rpartition(".")[2] for name in DIRECTIVE.findall(python_page())]
    assert sorted([*names, "__version__"]) == sorted(kbert.__all__)


@pytest.mark.slow
def test_the_page_of_commands_has_every_flag():
    sections = re.split(r"^### kbert (\S+)$", commands_page(), flags=re.MULTILINE)
    pages = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert pages.keys() == modules().keys()
    for command, module in modules().items():
        shown = set(re.findall(r"^  --(?:\[no\])?(\w+)$", pages[command], re.MULTILINE))
        assert shown >= set(flags_of(module)), command
