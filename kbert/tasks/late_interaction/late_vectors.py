"""`embed` of late interaction: a matrix for each text."""

import numpy as np
import tensorflow as tf

from kbert.features import ENCODER_INPUTS
from kbert.tasks.late_interaction.maxsim import maxsim
from kbert.tasks.late_interaction.token_inputs import SCORED, TokenInputs
from kbert.tasks.text_vectors import TextVectors


class LateVectors(TextVectors):
    """`embed` gives a list of float32 arrays (tokens that are scored, width); of one text its array."""

    def graph(self, loaded, task):
        text_inputs, config = loaded.text_inputs, self.task.pooling
        make_inputs = TokenInputs(config, text_inputs.vocabulary, text_inputs.max_seq_length, task)
        # An encoder for answering computes nothing where nobody attends, and a query's expansion is there.
        expands = task == "query" and config.query_expansion is not None
        model = loaded.model if expands else loaded.answering_model

        def embed(texts):
            inputs = make_inputs(texts)
            alone = {name: inputs[name][:, None] for name in ENCODER_INPUTS}
            return model(alone, training=False)["embeddings"][:, 0], inputs[SCORED]

        return tf.function(embed, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)

    def answers(self, outputs):
        return [vectors[scored == 1] for vectors, scored in zip(*outputs, strict=True)]

    def similarity(self, queries, texts):
        queries, texts = (
            [values] if isinstance(values, np.ndarray) and values.ndim == 2 else list(values)
            for values in (queries, texts)
        )
        return maxsim(queries, texts, self.task.pooling.similarity_fn_name == "meanmaxsim")
