"""Vectors of texts beside each other: their cosine, and when two of them stand for the same text."""

import numpy as np
from keras import ops

from kbert.layers.sequence_pooling import unit
from kbert.tasks.serving import Serving

SAME_VECTOR = 0.99  # the least cosine of two vectors that stand for the same text


def cosine(first, second):
    """The cosines of two tensors of vectors of shape (..., width): float32 of shape (...)."""
    return ops.sum(unit(first) * unit(second), axis=-1)


class VectorServing(Serving):
    """Answers that are vectors of texts. `vectors` names them among the outputs of the model."""

    one_text_output = "embedding"
    vectors: str

    def same_answers(self, outputs, expected, batch):
        """For each text whether the cosine of both vectors is at least `SAME_VECTOR`."""
        return self.cosines(outputs, expected) >= SAME_VECTOR

    def cosines(self, outputs, expected):
        return np.asarray(cosine(outputs[self.vectors], expected[self.vectors])).reshape(-1)
