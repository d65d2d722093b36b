"""The page of settings has every key of a config, with its default."""

import dataclasses
import json
import re

import pytest

from kbert.config import DatasetConfig, FinetuningConfig, PretrainingConfig
from kbert.config.pretraining_config import PhaseConfig
from kbert.config.training_config import TrainingConfig
from tests.docs.markdown import read

_ROW = re.compile(r"^\| `(\w+)` \| (\S.*?) \| (.+) \|$")


def tables():
    """The tables of the page, each a dict of key -> default as it is written."""
    found, last = [], None
    for line in read("docs/settings.md").splitlines():
        row = _ROW.match(line)
        if row and last is None:
            found.append({})
        if row:
            assert row[1] not in found[-1] and row[3].strip()
            found[-1][row[1]] = row[2]
        last = row
    return found


def written(field) -> str:
    """A default as the page has it: a table, or as in JSON."""
    if dataclasses.is_dataclass(field.type) or field.default_factory not in (dataclasses.MISSING, dict):
        return "table"
    default = {} if field.default_factory is dict else field.default
    return f"`{json.dumps(default)}`"


CLASSES = (TrainingConfig, PretrainingConfig, PhaseConfig, FinetuningConfig, DatasetConfig)


@pytest.mark.parametrize(("number", "config"), list(enumerate(CLASSES)))
def test_a_table_has_the_keys_and_defaults_of_its_class(number, config):
    inherited = {field.name for field in dataclasses.fields(TrainingConfig)}
    own = [
        field
        for field in dataclasses.fields(config)
        if config is TrainingConfig or not issubclass(config, TrainingConfig) or field.name not in inherited
    ]
    assert len(tables()) == len(CLASSES)
    assert tables()[number] == {field.name: written(field) for field in own}
