"""`embed` of late interaction: a matrix for each text."""

import numpy as np

from kbert.features import SCORED_TOKENS
from kbert.late_tensorflow import tf, traced_function
from kbert.tasks.late_interaction.late_serving import token_vectors
from kbert.tasks.late_interaction.maxsim import maxsim
from kbert.tasks.late_interaction.token_inputs import TokenInputs
from kbert.tasks.text_vectors import TextVectors


class LateVectors(TextVectors):
    """`embed` gives a list of float32 arrays (tokens that are scored, width); of one text its array."""

    def graph(self, loaded, task):
        text_inputs, config = loaded.text_inputs, self.task.pooling
        make_inputs = TokenInputs(config, text_inputs.vocabulary, text_inputs.max_seq_length, task)

        def embed(texts):
            inputs, cut = make_inputs.rows(texts)
            vectors = token_vectors(loaded.answering_model, inputs, make_inputs.fills)
            return (vectors, inputs[SCORED_TOKENS]), cut

        return traced_function(embed, [tf.TensorSpec([None], tf.string)])

    def answers(self, outputs):
        return [vectors[scored == 1] for vectors, scored in zip(*outputs, strict=True)]

    def similarity(self, queries, texts):
        queries, texts = (
            [values] if isinstance(values, np.ndarray) and values.ndim == 2 else list(values)
            for values in (queries, texts)
        )
        if any(np.ndim(matrix) != 2 for matrix in (*queries, *texts)):
            raise ValueError("expected for each text a matrix, the vectors of its tokens, as embed gives it.")
        queries, texts = (
            [np.asarray(matrix, np.float32) for matrix in matrices] for matrices in (queries, texts)
        )
        return maxsim(queries, texts, self.task.pooling.is_mean)
