"""The kinds of task: one file and one line here for each."""

from kbert.tasks.task_table import TaskTable

# The name, as configs, records and runs have it -> where its class is, from this package on. A class loads
# when it is first asked for.
TASKS = TaskTable(
    {
        "masked_lm": ".pretraining.MaskedLM",
        "pretraining": ".pretraining.Pretraining",
        "sentence_order": ".pretraining.SentenceOrder",
        "next_sentence": ".next_sentence.NextSentence",
        "sequence_classification": ".sequences.sequence_classification.SequenceClassification",
        "multi_label_classification": ".sequences.multi_label_classification.MultiLabelClassification",
        "sequence_regression": ".sequences.sequence_regression.SequenceRegression",
        "multiple_choice": ".sequences.multiple_choice.MultipleChoice",
        "token_classification": ".token_classification.TokenClassification",
        "question_answering": ".question_answering.QuestionAnswering",
        "encoder": ".encoding.Encoding",
    }
)
