"""How sparse vectors are answered: the words with the largest weights, so many for every text."""

import numpy as np

from kbert.late_tensorflow import tf
from kbert.tasks.file_columns import signature_inputs
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import row_signatures
from kbert.tasks.similarity.prompts import PromptedInputs, other_prompts
from kbert.tasks.similarity.vectors import text_embeddings

INDICES, WEIGHTS = "indices", "weights"
MOST_WORDS = 1024  # trained models give some hundred words to a text


class SparseServing(Serving):
    """`serving_default`: `text` (string [batch]) -> `indices` (int32 [batch, words]), ids of the words with
    the largest weights, and `weights` (float32 [batch, words]), from the largest on; 0 where a text has no
    more. There are as many words as the model keeps (`max_active_dims`), or else 1,024 at most. `ids` takes
    the encoder inputs. Beside a default prompt each other one has a signature of its own, `prompt_<name>`."""

    inputs, other_inputs = signature_inputs("sparse_embedding")
    answers = (INDICES, WEIGHTS)
    row_texts = ("text",)

    def signatures(self, model, text_inputs):
        pooling = self.task.pooling
        words = min(pooling.max_active_dims or MOST_WORDS, model.encoder.config.vocab_size)

        def largest(inputs):
            weights, indices = tf.math.top_k(text_embeddings(model, inputs), words)
            return {INDICES: indices, WEIGHTS: weights}

        def behind(prompt):
            return row_signatures(("text",), largest, model, PromptedInputs(text_inputs, prompt))

        named = {
            f"prompt_{name}": behind(pooling.prompt(name))["serving_default"]
            for name in other_prompts(pooling)
        }
        return behind(pooling.prompt()) | named

    def compared(self, outputs, vocab_size):
        """The vectors, float32 (batch, vocab_size): words of nearly the same weight may change places. A word
        that is not given has a weight up to the last one, which stands for it."""
        if WEIGHTS not in outputs:  # attention
            return outputs
        vectors = np.repeat(outputs[WEIGHTS][:, -1:], vocab_size, axis=1)
        np.put_along_axis(vectors, outputs[INDICES], outputs[WEIGHTS], axis=1)
        others = {name: value for name, value in outputs.items() if name not in self.answers}
        return others | {"vectors": vectors}

    def answer(self, outputs, inputs):
        """The ids of the words whose weight is not 0, and these weights, from the largest on."""
        self.task.pooling.warn_of_named_prompts()
        real = np.asarray(outputs[WEIGHTS]) > 0
        return {name: np.asarray(outputs[name])[real].tolist() for name in self.answers}

    def incomplete(self, outputs):
        """Says that texts have more words than an answer gives."""
        weights = np.asarray(outputs.get(WEIGHTS, np.zeros((0, 0))))
        is_full = np.all(weights > 0, axis=1).any()
        if self.task.pooling.max_active_dims or weights.shape[1] < MOST_WORDS or not is_full:
            return None
        return (
            f"there are texts with {MOST_WORDS:,} words or more whose weight is not 0, and predictions, "
            "exports and servers give the largest alone, unlike embed: train with larger lambda_q and "
            "lambda_d, or set max_active_dims, which counts everywhere."
        )
