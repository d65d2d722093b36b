"""The reference that `make docs` writes: every key, command and name; and every key is explained."""

import dataclasses
import importlib.util
import inspect
import re

import pytest

import kbert
from kbert.checkpoints.conversion import names
from kbert.checkpoints.hugging_face.families import FAMILIES
from kbert.checkpoints.hugging_face.folder_keys import config_keys
from kbert.checkpoints.hugging_face.key_table import FOLDER_KEYS
from kbert.cli.commands import modules
from kbert.tasks import TASKS
from tests.docs.markdown import anchors
from tests.places import REPOSITORY

_SPEC = importlib.util.spec_from_file_location("reference", REPOSITORY / "docs_site" / "write_reference.py")
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

CLASSES = dict.fromkeys([*reference.config_classes(), *(TASKS[name].settings_class for name in TASKS)])


@pytest.mark.parametrize("config_class", CLASSES, ids=lambda config_class: config_class.__name__)
def test_docstrings_explain_every_key(config_class):
    parents = [parent for parent in config_class.__mro__ if dataclasses.is_dataclass(parent)]
    text = "\n".join(inspect.getdoc(parent) for parent in parents)
    keys = [field.name for field in dataclasses.fields(config_class)]
    assert [key for key in keys if not re.search(rf"`{key}\b", text)] == []


def test_the_page_of_settings_has_every_key_and_its_default():
    page = reference.settings_page()
    for config_class in CLASSES:
        for field in dataclasses.fields(config_class):
            assert re.search(rf"^\| `{field.name}` \| `[^|]+` \| \S.* \|$", page, re.MULTILINE), field.name
    assert "| `train_batch_size` | `int` | `32` | above 0 and at most 10000000 |" in page
    assert '| `padding` | `str` | `"auto"` | auto, keep, pack |' in page
    assert "| `optimizer` | `OptimizerConfig` | table |" in page
    assert "| `text_pair` | `str or None` | `null` |" in page


def test_the_page_of_python_has_every_public_name():
    names = re.findall(r"^::: kbert[\w.]*\.(\w+)$", reference.python_page(), re.MULTILINE)
    assert sorted([*names, "__version__"]) == sorted(kbert.__all__)


def test_the_page_of_variables_has_every_name_of_every_format():
    page, tables = reference.variables_page(), [value for key, value in vars(names).items() if key.isupper()]
    rows = [row for table in tables if isinstance(table, dict) for part in table.values() for row in part]
    assert len(rows) > 100
    assert [row for row in rows if f"| `{row.kbert}` | `{row.outside}`" not in page] == []
    assert "| `span/dense/kernel` | `cls/squad/output_weights` ᵀ |" in page


def test_the_page_of_folder_keys_has_every_key_and_what_kbert_does_about_it():
    page = reference.folder_keys_page()
    tables = [*FOLDER_KEYS.values(), *map(config_keys, FAMILIES)]
    rows = [f"| `{name}` | " for keys in tables for name in keys]
    assert len(rows) > 300 and [row for row in rows if row not in page] == []
    assert "| `is_decoder` | always refused | kbert's BERT is a bidirectional encoder; `false` is no" in page
    assert all(key.about and not key.about.endswith(".") for keys in tables for key in keys.values())


@pytest.mark.long
def test_the_page_of_commands_has_every_command_and_its_help():
    page = reference.commands_page()
    assert {f"kbert-{command}" for command in modules()} <= set(anchors(page))
    assert page.count("--helpfull also shows") == len(modules())
