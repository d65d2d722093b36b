"""The kinds of task: one file and one line here for each."""

from kbert.tasks.task_table import TaskTable

# The name, as configs, records and runs have it -> where its class is. Nothing loads before it is asked for.
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
