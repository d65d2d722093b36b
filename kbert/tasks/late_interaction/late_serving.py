"""How late interaction answers: the vectors of the tokens of queries and of documents, and MaxSim."""

from kbert.config.vectors_config import TEXT_TASKS
from kbert.features import SCORED_TOKENS
from kbert.late_tensorflow import ops, tf
from kbert.tasks.file_columns import signature_inputs
from kbert.tasks.late_interaction.maxsim import maxsim_of_pairs
from kbert.tasks.late_interaction.token_inputs import TokenInputs
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import TRUNCATED, Signature, ids_signature, texts_signature
from kbert.tasks.similarity.vectors import text_embeddings

QUERY, DOCUMENT = TEXT_TASKS  # the names of the signatures as well
VECTORS, MASK = "vectors", "mask"


def token_vectors(model, inputs: dict, fills: bool):
    """The vectors of the tokens of texts: float32 (batch, length, width).

    Args:
      model: a model of `LateInteraction`, as it was trained or as it answers.
      inputs: encoder inputs, int32 (batch, length).
      fills: whether tokens are needed that nobody attends to. A model for answers computes none of them, so
        the one that it was made of does.
    """
    return text_embeddings(getattr(model, "trained", model) if fills else model, inputs)


class LateServing(Serving):
    """`serving_default`: `text` is a query and `text_pair` a document (string [batch]) -> `maxsim`, float32
    [batch]. `query`, `document`: `text` -> `vectors`, float32 [batch, length, width], and `mask`, int32
    [batch, length]: 1 at those that are compared; the others are 0. `ids` takes the encoder inputs of
    documents."""

    inputs, other_inputs = signature_inputs("late_interaction")
    answers = ("maxsim",)

    def signatures(self, model, text_inputs):
        pooling = self.task.pooling
        makers = {
            task: TokenInputs(pooling, text_inputs.vocabulary, text_inputs.max_seq_length, task)
            for task in TEXT_TASKS
        }

        def vectors(inputs, task):
            mask = inputs[SCORED_TOKENS]
            vectors = token_vectors(model, inputs, makers[task].fills)
            return {VECTORS: ops.where(mask[..., None] > 0, vectors, 0.0), MASK: mask}

        def embed(texts, task):
            prompt = pooling.prompt(pooling.prompt_name(task))
            rows, truncated = makers[task].rows(tf.strings.join([prompt, texts]) if prompt else texts)
            return vectors(rows, task) | {TRUNCATED: truncated}

        def compare(text, text_pair):
            query, document = embed(text, QUERY), embed(text_pair, DOCUMENT)
            both = (query[VECTORS], query[MASK], document[VECTORS], document[MASK])
            truncated = ops.logical_or(query[TRUNCATED], document[TRUNCATED])
            return {"maxsim": maxsim_of_pairs(*both, pooling.is_mean), TRUNCATED: truncated}

        def embed_ids(inputs):
            inputs = inputs | {SCORED_TOKENS: inputs["input_mask"]}
            return vectors(inputs | {SCORED_TOKENS: makers[DOCUMENT].scored(inputs)}, DOCUMENT)

        def alone(task):
            return texts_signature(("text",), lambda text: embed(text, task))

        signatures: dict[str, Signature] = {"serving_default": texts_signature(self.inputs, compare)}
        signatures |= {task: alone(task) for task in TEXT_TASKS}
        return signatures | {"ids": ids_signature(embed_ids, model, text_inputs)}

    def longest(self, max_seq_length):
        """Of a query and of a document, which have lengths of their own."""
        lengths = [self.task.pooling.longest(task, max_seq_length) for task in TEXT_TASKS]
        return "{} tokens of a query (query_length) or the {} of a document (document_length)".format(
            *lengths
        )

    def answer(self, outputs, inputs):
        """The MaxSim of a query and a document; of a text alone the vectors of its tokens, as a document."""
        if "text_pair" in inputs:
            return {"maxsim": float(outputs["maxsim"])}
        return {VECTORS: outputs[VECTORS][outputs[MASK] == 1].tolist()}
