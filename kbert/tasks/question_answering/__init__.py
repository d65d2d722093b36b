"""Questions about texts, answered by a span of the text: SQuAD v1.1 and v2.0."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kbert.tasks.question_answering.question_answering import QuestionAnswering

__all__ = ["QuestionAnswering"]


def __getattr__(name):
    """Imports the task, and TensorFlow with it, when it is asked for: files are read without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kbert.tasks.question_answering import question_answering

    return getattr(question_answering, name)
