"""kbert: the whole life of BERT in TensorFlow and Keras 3.

`import kbert` imports neither TensorFlow nor Keras. The module of a public name is imported when that name is
first used. docs/api.md shows the public names in use. TensorFlow starts quietly, as for the command `kbert`:
with TF_CPP_MIN_LOG_LEVEL=0 in the environment it says everything.
"""

import importlib
import sys

__version__ = "0.1.0"

# The public names and where they live. Everything else may move between versions.
_PUBLIC = {
    # A trained model, and answers from it
    "load": "kbert.inference.loading",
    "LoadedModel": "kbert.inference.loaded_model",
    "Predictor": "kbert.inference.predictor",
    "FeatureExtractor": "kbert.inference.feature_extractor",
    "quantize_embeddings": "kbert.inference.quantized_vectors",
    "RunDirectory": "kbert.runs.run_directory",
    # Training and evaluation
    "pretrain": "kbert.experiments.pretraining",
    "finetune": "kbert.experiments.finetuning",
    "evaluate": "kbert.experiments.evaluation",
    "evaluate_retrieval": "kbert.experiments.retrieval.evaluation",
    "hard_negatives": "kbert.experiments.retrieval.hard_negatives",
    "convert": "kbert.checkpoints.convert",
    # Models
    "EncoderConfig": "kbert.config.encoder_config",
    "BertEncoder": "kbert.encoder",
    "SequencePooling": "kbert.layers.sequence_pooling",
    "TaskModel": "kbert.tasks.task_model",
    # Tasks
    "Task": "kbert.tasks.task",
    "MaskedLM": "kbert.tasks.pretraining.objectives",
    "Pretraining": "kbert.tasks.pretraining.objectives",
    "NextSentence": "kbert.tasks.pretraining.next_sentence",
    "ReplacedTokenDetection": "kbert.tasks.pretraining.replaced_token_detection",
    "SequenceClassification": "kbert.tasks.sequences.sequence_classification",
    "MultiLabelClassification": "kbert.tasks.sequences.multi_label_classification",
    "SequenceRegression": "kbert.tasks.sequences.sequence_regression",
    "TokenClassification": "kbert.tasks.token_classification.token_classification",
    "QuestionAnswering": "kbert.tasks.question_answering.question_answering",
    "MultipleChoice": "kbert.tasks.sequences.multiple_choice",
    "CosineSimilarity": "kbert.tasks.similarity.cosine_similarity",
    "MultipleNegativesRanking": "kbert.tasks.similarity.multiple_negatives_ranking",
    # Text
    "Vocabulary": "kbert.tokenization.vocabulary",
    "WordPieceTokenizer": "kbert.tokenization.wordpiece_tokenizer",
    "TextInputs": "kbert.tokenization.text_inputs",
    "split_words_with_offsets": "kbert.tokenization.word_offsets",
}
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name):
    if name in ("TextClassifier", "MaskFiller"):
        raise AttributeError(f"kbert.{name} is gone; ask kbert.load(path).predict(texts) instead.")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'kbert' has no attribute {name!r}; its names are {', '.join(_PUBLIC)}.")
    if "tensorflow" not in sys.modules:  # whoever imported it before has chosen how much it says
        importlib.import_module("kbert.cli.quiet_tensorflow")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__():
    return sorted({*globals(), *_PUBLIC})
