"""Vectors at chosen places of many windows, from every layer of a frozen encoder."""

import numpy as np
import tensorflow as tf
from keras import ops

from kbert.answering.answering_encoder import AnsweringEncoder
from kbert.features import ENCODER_INPUTS
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.loaded_model import LoadedModel

# Lengths are rounded up to a multiple of this, so that few shapes occur.
_LENGTH_MULTIPLE = 16


class LayerVectors:
    """Asks an encoder for the outputs of the embeddings and of every layer; a `kbert.tasks.task.VectorsAt`.

    Windows of like lengths share a batch, and only the places that are asked for leave the device.

    Args:
      model: a `LoadedModel`.
      batch_size: windows at a time.

    Call arguments:
      inputs: encoder inputs, dict of int32 arrays of shape (windows, length).
      places: int array of shape (places, 2): window and position.

    Returns:
      float32 array of shape (places, num_hidden_layers + 1, hidden_size).

    Raises:
      ValueError: when a number is not finite.
    """

    def __init__(self, model: LoadedModel, batch_size: int = 32):
        self._model = model
        self._encoder = AnsweringEncoder(model.encoder, outputs=("hidden_states",))
        self._batch_size = batch_size
        windows = {name: tf.TensorSpec([None, None], tf.int32) for name in ENCODER_INPUTS}
        places = tf.TensorSpec([None, 2], tf.int32)
        self._run = tf.function(self._vectors, input_signature=[windows, places], autograph=False)

    def __call__(self, inputs: dict, places: np.ndarray) -> np.ndarray:
        config = self._model.config
        vectors = np.empty((len(places), config.num_hidden_layers + 1, config.hidden_size), np.float32)
        lengths = inputs["input_mask"].sum(axis=1)
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(order), self._batch_size):
            windows = order[start : start + self._batch_size]
            length = -(-int(lengths[windows].max()) // _LENGTH_MULTIPLE) * _LENGTH_MULTIPLE
            row_of = np.full(len(lengths), -1)
            row_of[windows] = np.arange(len(windows))
            rows = row_of[places[:, 0]]
            here = np.flatnonzero(rows >= 0)
            batch = {name: tf.constant(values[windows, :length]) for name, values in inputs.items()}
            at = np.stack([rows[here], places[here, 1]], axis=1).astype(np.int32)
            vectors[here] = self._run(batch, tf.constant(at)).numpy()
        require_finite_answers([vectors], self._model.source, name="a window of the texts")
        return vectors

    def _vectors(self, inputs, places):
        states = self._encoder(inputs)["hidden_states"]
        return tf.stack([tf.gather_nd(ops.cast(state, "float32"), places) for state in states], axis=1)
