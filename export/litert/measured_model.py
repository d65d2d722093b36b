"""A Keras model on a labelled file: its metrics, its size, and how long the texts are."""

import math

import numpy as np

from kbert.tokenization.text_inputs import TextInputs

from .comparison import answers_to, keras_answers, metrics_of
from .comparison_data import comparison_data
from .litert_source import LiteRTSource


def measured_model(source: LiteRTSource, eval_file) -> dict:
    """Measures a model on a labelled file.

    Args:
      source: the model; rows are as long as its `max_seq_length`.
      eval_file: labelled file in its form.

    Returns:
      dict: parameters; pieces (of the vocabulary); layers; metrics, as `run_evaluation` gives them;
      best_metric, the one to show first; median_tokens of the rows, special tokens included.

    Raises:
      ValueError: when the file does not match the model, or an answer is not finite.
    """
    data = comparison_data(source, eval_file, source.max_seq_length)
    task, model = source.load()
    text_inputs = TextInputs(source.vocabulary, source.max_seq_length)
    answered = answers_to(task, keras_answers(task, model, text_inputs, source.path), data)
    tokens = np.concatenate(
        [batch["input_mask"].reshape(-1, source.max_seq_length).sum(-1) for batch in data.batches]
    )
    return {
        "parameters": sum(math.prod(one.shape) for one in model.trainable_variables),
        "pieces": len(source.vocabulary),
        "layers": source.encoder.num_hidden_layers,
        "metrics": metrics_of(task, answered, data),
        "best_metric": source.best_metric,
        "median_tokens": int(np.median(tokens)),
    }
