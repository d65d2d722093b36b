"""A label for every word: files of tagged words, windows of long sentences, scores of entities, answers."""

from kbert.tasks.token_classification.sentence_rows import IGNORED_LABEL
from kbert.tasks.token_classification.token_classification import TokenClassification

__all__ = ["IGNORED_LABEL", "TokenClassification"]
