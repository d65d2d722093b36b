"""How similar two matrices of token vectors are."""

import numpy as np

from kbert.late_tensorflow import ops, tf

_WITHOUT_TOKENS = -1e9  # the score of a document with no token that is scored: it comes last
_ELEMENTS_AT_ONCE = 2**24  # of the products of a query's tokens with those of documents


def maxsim(queries: list, documents: list, is_mean: bool = False) -> np.ndarray:
    """MaxSim: for each token of the query the largest dot product with a token of the document, summed.

    Args:
      queries, documents: lists of float32 arrays (tokens, width), one for each text.
      is_mean: whether the sum is divided by the number of the query's tokens.

    Returns:
      float32 array (queries, documents); a large negative number for a document without tokens.

    Reference: arXiv 2004.12832, equation 3; sentence-transformers, util/similarity.py, `maxsim`.
    """
    scores = np.full((len(queries), len(documents)), _WITHOUT_TOKENS, np.float32)
    for first, last in _blocks([len(document) for document in documents], queries):
        block = [number for number in range(first, last) if len(documents[number])]
        if not block:
            continue
        tokens = np.concatenate([documents[number] for number in block])
        starts = np.cumsum([0, *(len(documents[number]) for number in block[:-1])])
        for row, query in enumerate(queries):
            largest = np.maximum.reduceat(query @ tokens.T, starts, axis=1)  # (tokens of the query, block)
            scores[row, block] = largest.sum(axis=0)
    lengths = np.array([max(len(query), 1) for query in queries], np.float32)[:, None]
    return scores / lengths if is_mean else scores


def maxsim_of_pairs(queries, query_mask, documents, document_mask, is_mean: bool = False):
    """As `maxsim`, of each query with the document beside it, as tensors.

    Args:
      queries, documents: float32 (..., tokens, width).
      query_mask, document_mask: (..., tokens): 1 at the tokens that are compared.

    Returns:
      float32 (...).
    """
    products = ops.matmul(queries, ops.swapaxes(documents, -1, -2))
    largest = ops.max(ops.where(document_mask[..., None, :] > 0, products, _WITHOUT_TOKENS), axis=-1)
    weights = ops.cast(query_mask, "float32")
    scores = ops.maximum(ops.sum(largest * weights, axis=-1), _WITHOUT_TOKENS)
    return scores / ops.maximum(ops.sum(weights, axis=-1), 1.0) if is_mean else scores


def maxsim_of_all(queries, documents):
    """As `maxsim`, of each query with each document, as tensors whose gradients are known.

    One query is compared with all documents at a time, and a gradient computes the products anew: so these
    take the memory of one query.

    Args:
      queries, documents: float32 (..., queries, tokens, width + 1) and (..., documents, tokens, width + 1):
        the last number is 1 at tokens that are compared and 0 at others.

    Returns:
      float32 (..., queries, documents).
    """
    if len(queries.shape) > 3:
        both = (tf.convert_to_tensor(queries), tf.convert_to_tensor(documents))
        return tf.map_fn(lambda row: maxsim_of_all(*row), both, 1, fn_output_signature=tf.float32)
    number = documents.shape[0]

    @tf.recompute_grad
    def compare_query(query, documents):
        both = query[None, :, :-1], query[None, :, -1], documents[..., :-1], documents[..., -1]
        return maxsim_of_pairs(*both)

    def compare(query):
        return tf.ensure_shape(compare_query(query, documents), [number])

    return tf.map_fn(compare, queries, parallel_iterations=1)


def _blocks(lengths, queries):
    """(first, last) of documents whose products with the longest query keep to `_ELEMENTS_AT_ONCE`."""
    most = max(_ELEMENTS_AT_ONCE // max([1, *map(len, queries)]), 1)
    first, total = 0, 0
    for number, length in enumerate(lengths):
        if total + length > most and number > first:
            yield first, number
            first, total = number, 0
        total += length
    if lengths:
        yield first, len(lengths)
