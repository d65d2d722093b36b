"""The table of tasks: each task has one line here and is defined in a file of this folder."""

from kbert.tasks.task_table import TaskTable

# The name that configs, records and runs use -> its class. A class is imported when it is first used.
TASKS = TaskTable(
    {
        "masked_lm": "kbert.tasks.pretraining.MaskedLM",
        "pretraining": "kbert.tasks.pretraining.Pretraining",
        "sentence_order": "kbert.tasks.pretraining.SentenceOrder",
        "next_sentence": "kbert.tasks.next_sentence.NextSentence",
        "sequence_classification": "kbert.tasks.sequence_classification.SequenceClassification",
        "multi_label_classification": "kbert.tasks.multi_label_classification.MultiLabelClassification",
        "sequence_regression": "kbert.tasks.sequence_regression.SequenceRegression",
        "multiple_choice": "kbert.tasks.multiple_choice.MultipleChoice",
        "token_classification": "kbert.tasks.token_classification.TokenClassification",
        "question_answering": "kbert.tasks.question_answering.QuestionAnswering",
        "encoder": "kbert.tasks.encoding.Encoding",
    }
)
