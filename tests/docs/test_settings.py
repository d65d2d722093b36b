"""The page of settings has every key of a config, with its default."""

import dataclasses
import json
import re

from kbert.config import DatasetConfig, FinetuningConfig, PretrainingConfig
from kbert.config.pretraining_config import PhaseConfig
from kbert.config.training_config import TrainingConfig
from tests.docs.markdown import read

_ROW = re.compile(r"^\| `(\w+)` \| (\S.*?) \| .*\S.* \|$", re.MULTILINE)


def written(field) -> str:
    """A default as the page has it: a table, or as in JSON."""
    if dataclasses.is_dataclass(field.type) or field.default_factory not in (dataclasses.MISSING, dict):
        return "table"
    default = {} if field.default_factory is dict else field.default
    return f"`{json.dumps(default)}`"


CLASSES = (TrainingConfig, PretrainingConfig, PhaseConfig, FinetuningConfig, DatasetConfig)


def test_the_tables_have_every_key_and_its_default():
    inherited = {field.name for field in dataclasses.fields(TrainingConfig)}
    own = [
        (field.name, written(field))
        for config in CLASSES
        for field in dataclasses.fields(config)
        if config is TrainingConfig or not issubclass(config, TrainingConfig) or field.name not in inherited
    ]
    assert sorted(_ROW.findall(read("docs/settings.md"))) == sorted(own)
