"""The kinds of task, one file each: model, losses, metrics, answers."""

from kbert.tasks.pretraining import Pretraining
from kbert.tasks.sequence_classification import SequenceClassification

TASKS = {task.name: task for task in (Pretraining, SequenceClassification)}
