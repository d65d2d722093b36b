"""Vectors of tokens or texts out of any of the encoder's layers."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.texts import text_batch
from kbert.layers.sequence_pooling import POOLINGS, SequencePooling

COMBINATIONS = ("none", "sum", "concat")


class TextFeatures(NamedTuple):
    """What a `FeatureExtractor` gives for one text.

    Fields:
      input_ids: int32 array of shape (tokens,), special tokens included, padding not.
      tokens: the pieces of these ids.
      values: float32 array. Of shape (tokens, layers, hidden_size); with a pooling the first axis is
        gone, and with a combination the second: "sum" leaves hidden_size numbers, "concat" layers times
        as many.
    """

    input_ids: np.ndarray
    tokens: list[str]
    values: np.ndarray


class FeatureExtractor:
    """Gives what the encoder's layers hold for texts, as the original's extract_features.py does.

    Args:
      model: a `LoadedModel`.
      layers: which layers: -1 is the last, -2 the one before; 0 is the output of the embeddings, 1 the first
        layer.
      pooling: "none" for a vector a token, or a mode of `SequencePooling` for one vector a text.
      combine: what becomes of several layers: "none" keeps them apart, "sum" adds them, "concat" lays them
        one after the other in the order given.

    Call arguments:
      texts: a text or a list of texts.
      text_pairs: the second texts in the same form, None for a text without one; or None when no text has
        one.

    Returns:
      A list of `TextFeatures`, one a text; the `TextFeatures` of one text by itself.

    Raises:
      ValueError: for a layer that the encoder does not have, another pooling or combination, what is no
        text, or features that are not finite.

    Example:
      >>> import kbert
      >>> loaded = kbert.load(run_dir)
      >>> extract = kbert.FeatureExtractor(loaded, layers=[-1, 0], pooling="mean", combine="concat")
      >>> (features,) = extract(["jump the a"])
      >>> features.tokens, features.values.shape
      (['[CLS]', 'jump', 'the', 'a', '[SEP]'], (32,))

    Reference: google-research/bert, extract_features.py; arXiv 1810.04805, section 5.3 for combinations.
    """

    def __init__(self, model: LoadedModel, layers=(-1,), pooling="none", combine="none"):
        number = model.config.num_hidden_layers
        for layer in layers:
            if not -number - 1 <= layer <= number:
                raise ValueError(
                    f"layers={list(layers)} asks for layer {layer}, but this encoder has {number}: choose "
                    f"from -1 (the last) to -{number} (the first), or 0 for the embeddings."
                )
        if not layers:
            raise ValueError("layers is empty; name at least one, for example -1 for the last.")
        if pooling not in ("none", *POOLINGS):
            raise ValueError(f"pooling={pooling!r} is not known; choose one of none, {', '.join(POOLINGS)}.")
        if combine not in COMBINATIONS:
            raise ValueError(f"combine={combine!r} is not known; choose one of {', '.join(COMBINATIONS)}.")
        self.layers = tuple(layers)
        self.pooling = pooling
        self.combine = combine
        self._model = model
        self._encoder = model.encoder.with_outputs("hidden_states")
        self._pool = None if pooling == "none" else SequencePooling(pooling)
        self._run = tf.function(self._values, reduce_retracing=True)

    def __call__(self, texts, text_pairs=None) -> list[TextFeatures]:
        batch = text_batch(texts, text_pairs, pairs_may_miss=True)
        texts, pairs = batch.texts, batch.pairs or [None] * len(batch.texts)
        features: list = [None] * len(texts)
        # A pair has a separator more than a single text, so the two go through the encoder apart.
        for paired in (False, True):
            places = [place for place, pair in enumerate(pairs) if (pair is not None) == paired]
            if places:
                seconds = [pairs[place] for place in places] if paired else None
                found = self._features([texts[place] for place in places], seconds)
                for place, item in zip(places, found, strict=True):
                    features[place] = item
        require_finite_answers([item.values for item in features], self._model.source)
        return batch.answer(features)

    def _features(self, texts, text_pairs):
        inputs = self._model.inputs(texts, text_pairs)
        values = self._run(inputs).numpy()
        tokens = self._model.vocabulary.tokens
        features = []
        for ids, mask, row in zip(
            inputs["input_ids"].numpy(), inputs["input_mask"].numpy(), values, strict=True
        ):
            length = int(mask.sum())
            ids = ids[:length]
            features.append(TextFeatures(ids, [tokens[i] for i in ids], row if self._pool else row[:length]))
        return features

    def _values(self, inputs):
        """float32 tensor of shape (batch, [tokens,] [layers,] width)."""
        states = self._encoder(inputs, training=False)["hidden_states"]
        states = [ops.cast(states[layer], "float32") for layer in self.layers]  # each (B, S, H)
        if self._pool:
            states = [self._pool(state, inputs["input_mask"]) for state in states]  # each (B, H)
        if self.combine == "sum":
            return sum(states)
        return ops.concatenate(states, axis=-1) if self.combine == "concat" else ops.stack(states, axis=-2)
