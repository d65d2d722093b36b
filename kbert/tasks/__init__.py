"""The table of tasks: each task has one line here and is defined in a file of this folder."""

from kbert.late_modules import late_modules
from kbert.tasks.task_table import TaskTable

__getattr__ = late_modules(__name__)

# The name that configs, records and runs use -> where its class is, relative to this package. A class is
# imported when it is first used.
TASKS = TaskTable(
    {
        "masked_lm": ".pretraining.objectives.MaskedLM",
        "pretraining": ".pretraining.objectives.Pretraining",
        "sentence_order": ".pretraining.objectives.SentenceOrder",
        "next_sentence": ".pretraining.next_sentence.NextSentence",
        "replaced_token_detection": ".pretraining.replaced_token_detection.ReplacedTokenDetection",
        "sequence_classification": ".sequences.sequence_classification.SequenceClassification",
        "multi_label_classification": ".sequences.multi_label_classification.MultiLabelClassification",
        "sequence_regression": ".sequences.sequence_regression.SequenceRegression",
        "multiple_choice": ".sequences.multiple_choice.MultipleChoice",
        "token_classification": ".token_classification.token_classification.TokenClassification",
        "question_answering": ".question_answering.question_answering.QuestionAnswering",
        "encoder": ".encoding.Encoding",
        "cosine_similarity": ".similarity.cosine_similarity.CosineSimilarity",
        "sparse_embedding": ".sparse_embedding.sparse_embedding.SparseEmbedding",
        "late_interaction": ".late_interaction.late_interaction.LateInteraction",
        "multiple_negatives_ranking": ".similarity.multiple_negatives_ranking.MultipleNegativesRanking",
    }
)
