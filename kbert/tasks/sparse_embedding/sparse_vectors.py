"""Sparse vectors as rows of a `scipy.sparse.csr_array`, and the words behind them."""

import numpy as np
from scipy import sparse

from kbert.files.json_values import shown
from kbert.late_tensorflow import tf, traced_function
from kbert.tasks.similarity.vectors import comparable_rows, text_embeddings
from kbert.tasks.sparse_embedding.sparse_similarities import sparse_similarities, strongest
from kbert.tasks.text_vectors import TextVectors


class SparseVectors(TextVectors):
    """`embed` gives a csr_array (texts, vocab_size); of one text (vocab_size,)."""

    def graph(self, loaded, task):
        def weigh(texts):
            inputs, cut = loaded.text_inputs.rows(texts)
            return text_embeddings(loaded.answering_model, inputs), cut

        return traced_function(weigh, [tf.TensorSpec([None], tf.string)])

    def answers(self, outputs):
        rows = sparse.csr_array(strongest(outputs, self.task.pooling.max_active_dims))
        return [rows[[number]] for number in range(len(outputs))]

    def together(self, answers, config):
        none = sparse.csr_array((0, config.vocab_size), dtype=np.float32)
        return sparse.vstack([none, *answers], format="csr")

    def alone(self, answer):
        return answer[0]

    def similarity(self, queries, texts):
        queries, texts = comparable_rows(_rows(queries), _rows(texts))
        return sparse_similarities(queries, texts, self.task.pooling.similarity_fn_name)

    def decode(self, vectors, tokens, top_k: int | None) -> list:
        """For each vector its words with their weights, the largest first; of one vector its words.

        Args:
          vectors: what `embed` gives.
          tokens: those of the vocabulary.
          top_k: the most words; None gives all whose weight is not 0.

        Raises:
          ValueError: for vectors of another width.
        """
        rows = _rows(vectors)
        if rows.shape[1] < len(tokens):
            raise ValueError(
                f"vectors of {shown(rows.shape[1])} numbers; this model has one for each of its words, at "
                f"least {len(tokens)}."
            )
        decoded = []
        for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            weights, words = rows.data[start:stop], rows.indices[start:stop]
            order = np.argsort(-weights, kind="stable")[:top_k]
            names = [tokens[i] if i < len(tokens) else f"[{i}]" for i in words[order]]
            decoded.append(list(zip(names, weights[order].tolist(), strict=True)))
        return decoded if _is_sparse_list(vectors) or np.ndim(vectors) == 2 else decoded[0]


def _is_sparse_list(vectors) -> bool:
    return isinstance(vectors, list | tuple) and any(map(sparse.issparse, vectors))


def _rows(vectors):
    """csr_array (texts, words) of a sparse array, another one, or a list of them; a vector alone is a row."""
    if _is_sparse_list(vectors):
        return sparse.vstack([_rows(vector) for vector in vectors], format="csr")
    if not sparse.issparse(vectors):
        return sparse.csr_array(np.atleast_2d(np.asarray(vectors, np.float32)))
    return vectors.reshape(1, -1).tocsr() if vectors.ndim == 1 else sparse.csr_array(vectors)
