"""Questions about texts, answered by a span of the text: SQuAD v1.1 and v2.0."""

from kbert.tasks.question_answering.question_answering import QuestionAnswering

__all__ = ["QuestionAnswering"]
