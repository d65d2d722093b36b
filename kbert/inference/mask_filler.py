"""The most probable tokens for [MASK]."""

import numpy as np
import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loaded_model import LoadedModel, load_for
from kbert.inference.texts import text_batch
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.text_inputs import TextInputs


class MaskFiller:
    """Fills the `[MASK]`s of texts with a pretraining run.

    Args:
      run: a pretraining run's `RunDirectory`, or a `LoadedModel` with a masked-LM head.

    Call arguments:
      texts: a text or a list of texts, each with at least one `[MASK]`.
      top_k: how many tokens to give for each mask, at least one.

    Returns:
      For each text a list with, for each of its masks in order, a list of
      `{"token": str, "probability": float}`, the most probable first. For one text by itself, its list.

    Raises:
      ValueError: for a run of another task, what is no text, a text without `[MASK]`, one whose `[MASK]`
        lies beyond the longest sequence, or a model whose answer is no finite number.

    Example:
      >>> import kbert
      >>> fill = kbert.MaskFiller(kbert.load(pretraining_run_dir))
      >>> ((candidates,),) = fill(["the [MASK] a"], top_k=2)
      >>> [sorted(candidate) for candidate in candidates]
      [['probability', 'token'], ['probability', 'token']]
    """

    def __init__(self, run: RunDirectory | LoadedModel):
        loaded = load_for(run, "pretraining", "filling masks needs a pretraining run")
        self._model, self._source = loaded.model, loaded.source
        self._vocabulary = loaded.vocabulary
        self._max_seq_length = loaded.max_seq_length
        self._inputs = TextInputs(self._vocabulary, self._max_seq_length)

    def __call__(self, texts, top_k: int = 5):
        batch = text_batch(texts)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise ValueError(f"top_k={top_k!r}: expected a whole number of tokens, at least 1.")
        for text in batch.texts:
            if "[MASK]" not in text:
                raise ValueError(f"no [MASK] in {text[:60]!r}; write one where a token is to be guessed.")
        return batch.answer(self._fill(batch.texts, top_k)) if batch.texts else []

    def _fill(self, texts, top_k):
        inputs = self._inputs(tf.constant(texts), pad_to_longest=True, with_masks=True)
        masks = inputs["input_ids"].numpy() == self._vocabulary.mask_id
        for text, row in zip(texts, masks, strict=True):
            if row.sum() < text.count("[MASK]"):
                raise ValueError(
                    f"the [MASK] of {text[:60]!r}... lies beyond {self._max_seq_length} tokens, the longest "
                    "sequence of this run; shorten the text."
                )
        places = [np.flatnonzero(row) for row in masks]
        positions = np.zeros((len(texts), max(map(len, places))), np.int32)
        for row, place in zip(positions, places, strict=True):
            row[: len(place)] = place
        inputs["masked_lm_positions"] = tf.constant(positions)
        logits = self._model(inputs, training=False)["masked_lm_logits"]
        logits = logits[..., : len(self._vocabulary)]  # the table may have more rows than there are tokens
        probabilities = tf.nn.softmax(logits)
        require_finite_answers(probabilities.numpy(), self._source)
        probabilities, tokens = tf.math.top_k(probabilities, k=min(top_k, len(self._vocabulary)))
        return [
            [self._ranked(tokens[row, mask], probabilities[row, mask]) for mask in range(len(place))]
            for row, place in enumerate(places)
        ]

    def _ranked(self, tokens, probabilities):
        return [
            {"token": self._vocabulary.tokens[token], "probability": float(probability)}
            for token, probability in zip(tokens.numpy(), probabilities.numpy(), strict=True)
        ]
