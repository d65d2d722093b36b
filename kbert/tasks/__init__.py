"""The kinds of task, one file each: model, losses, metrics, answers."""

from kbert.tasks.encoding import Encoding
from kbert.tasks.multiple_choice import MultipleChoice
from kbert.tasks.next_sentence import NextSentence
from kbert.tasks.pretraining import Pretraining
from kbert.tasks.question_answering import QuestionAnswering
from kbert.tasks.sequence_classification import SequenceClassification
from kbert.tasks.token_classification import TokenClassification

TASKS = {
    task.name: task
    for task in (
        Pretraining,
        SequenceClassification,
        TokenClassification,
        QuestionAnswering,
        MultipleChoice,
        NextSentence,
        Encoding,
    )
}
