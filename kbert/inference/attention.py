"""The attention probabilities of every layer and head for a text, by the model's own weights."""

from typing import NamedTuple

import numpy as np

from kbert.files.json_values import shown
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.texts import require_single_texts


class Attention(NamedTuple):
    """What each token of a text attends to.

    Fields:
      tokens: the tokens, with special tokens.
      probabilities: float32 array of shape (layers, heads, from, to), both axes along `tokens`; every row
        over `to` has the sum 1.
    """

    tokens: list[str]
    probabilities: np.ndarray


def compute_attention(model: LoadedModel, text: str, text_pair: str | None = None) -> Attention:
    """Runs the encoder on one text, or on one pair, without dropout.

    The probabilities come from an encoder with the same weights that returns them as well. The model itself
    does not change.

    Args:
      model: a `LoadedModel`; texts are cut to its `max_seq_length`, with a warning, as by its `inputs`.
      text: the text. A literal `[MASK]` in it is the mask token.
      text_pair: the second text, or None.

    Raises:
      ValueError: when a text is not one, for a pair where the model was trained on texts alone or reads each
        by itself, or when probabilities are not finite.

    Reference: arXiv 1706.03762, section 3.2.1; google-research/bert, modeling.py, `attention_layer`.
    """
    if model.makes_vectors:
        require_single_texts([text_pair], model.source)
    elif model.takes_pairs is False and text_pair is not None:
        raise ValueError(
            f"{model.source} reads texts alone, as it was trained, and received the second text "
            f"{shown(text_pair)}; leave text_pair out."
        )
    model.say_written_tokens([text, text_pair], reads_masks=True)
    inputs = model.inputs([text], None if text_pair is None else [text_pair], with_masks=True)
    encoder = model.encoder.with_outputs("attention_probabilities")
    layers = encoder(inputs, training=False)["attention_probabilities"]
    probabilities = np.stack([layer.numpy()[0] for layer in layers]).astype(np.float32)
    require_finite_answers([probabilities], model.source)
    tokens = [model.vocabulary.tokens[index] for index in inputs["input_ids"].numpy()[0]]
    return Attention(tokens, probabilities)
