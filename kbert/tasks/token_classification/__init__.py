"""A label for every word: files of tagged words, windows of long sentences, scores of entities, answers."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbert.tasks.token_classification.sentence_rows import IGNORED_LABEL
    from kbert.tasks.token_classification.token_classification import TokenClassification

__all__ = ["IGNORED_LABEL", "TokenClassification"]
_MODULES = {"IGNORED_LABEL": "sentence_rows", "TokenClassification": "token_classification"}


def __getattr__(name):
    """Imports the task, and TensorFlow with it, when it is asked for: files are read without it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
