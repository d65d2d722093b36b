"""Vectors of tokens or texts, from any layers of the encoder."""

from collections.abc import Iterable
from numbers import Integral
from typing import Literal, NamedTuple

import numpy as np

from kbert.checks import with_checked_values
from kbert.cli.warn_once import warn_once
from kbert.config.pooling_config import JOIN, POOLINGS, PoolingConfig
from kbert.config.vectors_config import warn_of_written_prompts
from kbert.features import ENCODER_INPUTS
from kbert.files.json_values import shown
from kbert.inference import answering_encoder
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loading import open_model
from kbert.inference.texts import require_single_texts, text_batch
from kbert.late_tensorflow import ops, tf, traced_function
from kbert.layers import sequence_pooling, unit_length

_COMBINATIONS = {
    "none": lambda states: ops.stack(states, axis=-2),
    "sum": sum,
    "concat": lambda states: ops.concatenate(states, axis=-1),
}


class TextFeatures(NamedTuple):
    """The features of one text.

    Fields:
      input_ids: int32 array of shape (tokens,), with special tokens and without padding.
      tokens: the tokens of these ids, as strings.
      values: float32 array of shape (tokens, layers, hidden_size). With pooling there is no axis `tokens`.
        With a combination there is no axis `layers`: the last axis is hidden_size for "sum", and
        layers * hidden_size for "concat".
    """

    input_ids: np.ndarray
    tokens: list[str]
    values: np.ndarray


class FeatureExtractor:
    """Returns the outputs of the encoder's layers for texts, like the original extract_features.py.

    Args:
      model: a `LoadedModel`, a `RunDirectory`, or a path or name as for `kbert.load`.
      layers: which layers: -1 is the last, -2 the one before; 0 is the output of the embeddings, 1 the first
        layer.
      pooling: "none" for one vector for each token, or a mode of `SequencePooling` for one vector for each
        text; or the `own_pooling` of the model, with its default prompt, `normalize` and all.
      normalize: whether to scale a text's vector to length 1, with a mode; by default it is not scaled.
      combine: how to combine several layers: "none" keeps them apart, "sum" adds them, "concat" concatenates
        them in the given order. An `own_pooling` makes a vector of each layer before, of length 1 where it
        normalizes; `normalize` scales what comes out.

    Attributes:
      loaded: the `LoadedModel`.

    Call arguments:
      texts: a text or a list of texts.
      text_pairs: the second texts in the same form, with None for a text without a second one; or None when
        no text has a second one.

    Returns:
      A list with the `TextFeatures` of each text; for a single text (not in a list) its `TextFeatures`.

    Raises:
      ValueError: for a layer that the encoder does not have, an unknown pooling or combination, a `normalize`
        that nothing reads, an input that is not a text, a pair with the model's own pooling, or features that
        are not finite.

    Examples:
      >>> import kbert
      >>> loaded = kbert.load(run_dir)
      >>> extract = kbert.FeatureExtractor(loaded, layers=[-1, 0], pooling="mean", combine="concat")
      >>> (features,) = extract(["jump the a"])
      >>> features.tokens, features.values.shape
      (['[CLS]', 'jump', 'the', 'a', '[SEP]'], (32,))

    Reference: google-research/bert, extract_features.py; arXiv 1810.04805, section 5.3 for combinations.
    """

    @with_checked_values
    def __init__(
        self,
        model,
        layers=(-1,),
        pooling="none",
        combine: Literal["none", "sum", "concat"] = "none",
        normalize: bool | None = None,
    ):
        self.loaded = model = open_model(model)
        self.layers = _checked_layers(layers, model.config.num_hidden_layers)
        is_word = isinstance(pooling, str) and {*pooling.split(JOIN)} <= {"none", *POOLINGS}
        if not is_word and not isinstance(pooling, PoolingConfig):
            raise ValueError(
                f"pooling={pooling!r} is not known; choose one of none, {', '.join(POOLINGS)}, or the "
                "own_pooling of a model that has one."
            )
        if normalize is not None and (pooling == "none" or not isinstance(pooling, str)):
            raise ValueError(
                f"normalize={normalize} is for the vectors of a mode of pooling, and none is named; leave it "
                "out."
            )
        self._is_own = not isinstance(pooling, str)
        if isinstance(pooling, str) and pooling != "none":
            pooling = PoolingConfig(pooling, normalize=False)
        self.pooling = pooling
        self.combine = combine
        self.normalize = bool(normalize)
        self._prompt = "" if pooling == "none" else pooling.prompt()
        if not self._is_own and model.makes_vectors and (default := model.vectors.prompt()):
            warn_once(
                f"{model.source}: its default prompt, {default!r}, is not put before these texts; for "
                "vectors as `embed` gives them take its own_pooling (kbert features: leave --pooling out)."
            )

    def __call__(self, texts, text_pairs=None) -> list[TextFeatures]:
        batch = text_batch(texts, text_pairs, pairs_may_miss=True)
        pairs = batch.pairs or [None] * len(batch.texts)
        warn_of_written_prompts(self._prompt, batch.texts)
        self.loaded.say_written_tokens([batch.texts, pairs])
        self.loaded.warn_of_unknown_tokens(batch.texts)
        if self._is_own:
            way = "give the texts alone, one by one, or name a pooling for pairs in one row"
            require_single_texts(pairs, self.loaded.source, way)
        features: list = [None] * len(pairs)
        # A pair has one separator more than a single text, so pairs and single texts are separate batches.
        for paired in (False, True):
            kind = [position for position, pair in enumerate(pairs) if (pair is not None) == paired]
            for indices in batch.select(kind).positions_by_length(self.loaded.max_seq_length):
                positions = [kind[position] for position in indices]
                selected = batch.select(positions)
                batch_features = self._features(selected.texts, selected.pairs if paired else None)
                require_finite_answers([row.values for row in batch_features], self.loaded.source, positions)
                for position, row in zip(positions, batch_features, strict=True):
                    features[position] = row
        return batch.answer(features)

    def _features(self, texts, text_pairs):
        pairs = None if text_pairs is None else tf.constant(text_pairs, tf.string)
        prompted = tf.constant([self._prompt + text for text in texts], tf.string)
        inputs, cut = self.loaded.text_inputs.rows(prompted, pairs)
        self.loaded.warn_of_cut_text(cut, texts, longest=f"{self.loaded.max_seq_length} tokens")
        key = ("features", self.layers, self.pooling, self.combine, self.normalize)
        run = self.loaded.graph(key, self._graph)
        values = run(inputs).numpy()
        tokens = self.loaded.vocabulary.tokens
        features = []
        for ids, mask, row in zip(
            inputs["input_ids"].numpy(), inputs["input_mask"].numpy(), values, strict=True
        ):
            length = int(mask.sum())
            ids = ids[:length]
            features.append(
                TextFeatures(ids, [tokens[i] for i in ids], row[:length] if self.pooling == "none" else row)
            )
        return features

    def _graph(self):
        """Encoder inputs -> float32 tensor of shape (batch, [tokens,] [layers,] width)."""
        encoder = answering_encoder.AnsweringEncoder(
            self.loaded.encoder, self.loaded.precision, outputs=("hidden_states",)
        )
        pool = None
        if self.pooling != "none":
            pool = sequence_pooling.SequencePooling.of(self.pooling, model=self.loaded.model)
        inputs = {name: tf.TensorSpec([None, None], tf.int32) for name in ENCODER_INPUTS}

        def values(inputs):
            states = encoder(inputs)["hidden_states"]
            states = [ops.cast(states[layer], "float32") for layer in self.layers]  # each (B, S, H)
            if pool:
                states = [pool(state, inputs["input_mask"]) for state in states]  # each (B, H)
            combined = _COMBINATIONS[self.combine](states)
            return unit_length.unit(combined) if self.normalize else combined

        return traced_function(values, [inputs])


def _checked_layers(layers, number: int) -> tuple[int, ...]:
    """The layers that are asked for, of an encoder with `number` of them."""
    listed = (*layers,) if isinstance(layers, Iterable) else (None,)
    if not all(isinstance(layer, Integral) for layer in listed):
        raise ValueError(f"layers={shown(layers)}: expected whole numbers in a list, such as [-1, -2].")
    if not listed:
        raise ValueError("layers is empty; give at least one, for example -1 for the last.")
    for layer in listed:
        if not -number - 1 <= layer <= number:
            raise ValueError(
                f"layers={list(listed)} asks for layer {layer}, but this encoder has {number} layers: "
                f"choose from -1 (the last) to -{number} (the first), or 0 for the embeddings."
            )
    return listed
