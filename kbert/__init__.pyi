"""The public names and where they live, for editors, type checkers and kbert/__init__.py.

Everything else may move between versions.
"""

# A trained model, and answers from it
from kbert.inference.loading import load as load
from kbert.inference.loaded_model import LoadedModel as LoadedModel
from kbert.inference.predictor import Predictor as Predictor
from kbert.inference.feature_extractor import FeatureExtractor as FeatureExtractor
from kbert.inference.quantized_vectors import quantize_embeddings as quantize_embeddings
from kbert.runs.run_directory import RunDirectory as RunDirectory

# Training and evaluation
from kbert.experiments.pretraining import pretrain as pretrain
from kbert.experiments.finetuning import finetune as finetune
from kbert.experiments.evaluation import evaluate as evaluate
from kbert.experiments.retrieval.evaluation import evaluate_retrieval as evaluate_retrieval
from kbert.experiments.retrieval.hard_negatives import hard_negatives as hard_negatives
from kbert.checkpoints.convert import convert as convert

# Models
from kbert.config.encoder_config import EncoderConfig as EncoderConfig
from kbert.encoder import BertEncoder as BertEncoder
from kbert.layers.sequence_pooling import SequencePooling as SequencePooling
from kbert.tasks.task_model import TaskModel as TaskModel

# Tasks
from kbert.tasks.task import Task as Task
from kbert.tasks.pretraining.objectives import MaskedLM as MaskedLM
from kbert.tasks.pretraining.objectives import Pretraining as Pretraining
from kbert.tasks.pretraining.next_sentence import NextSentence as NextSentence
from kbert.tasks.pretraining.replaced_token_detection import ReplacedTokenDetection as ReplacedTokenDetection
from kbert.tasks.sequences.sequence_classification import SequenceClassification as SequenceClassification
from kbert.tasks.sequences.multi_label_classification import (
    MultiLabelClassification as MultiLabelClassification,
)
from kbert.tasks.sequences.sequence_regression import SequenceRegression as SequenceRegression
from kbert.tasks.token_classification.token_classification import TokenClassification as TokenClassification
from kbert.tasks.question_answering.question_answering import QuestionAnswering as QuestionAnswering
from kbert.tasks.sequences.multiple_choice import MultipleChoice as MultipleChoice
from kbert.tasks.similarity.cosine_similarity import CosineSimilarity as CosineSimilarity
from kbert.tasks.similarity.multiple_negatives_ranking import (
    MultipleNegativesRanking as MultipleNegativesRanking,
)

# Text
from kbert.tokenization.vocabulary import Vocabulary as Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer as WordPieceTokenizer
from kbert.tokenization.text_inputs import TextInputs as TextInputs
from kbert.tokenization.word_offsets import split_words_with_offsets as split_words_with_offsets

__version__: str
