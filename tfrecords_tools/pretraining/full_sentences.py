"""Tokenised documents -> running texts for masked LM alone, without sentence pairs."""

import numpy as np

from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus

_SPECIAL_TOKENS_OF_A_TEXT = 2  # [CLS] text [SEP]


def pack_full_sentences(
    corpus: TokenizedCorpus, documents, *, max_seq_length: int, sep_id: int
) -> tuple[np.ndarray, np.ndarray]:
    """Fills sequences with consecutive full sentences, across document ends, with [SEP] between documents.

    This is FULL-SENTENCES of RoBERTa (arXiv 1907.11692, section 4.2). A sentence longer than a whole sequence
    is cut, and its rest begins the next sequence.

    Args:
      corpus: the `TokenizedCorpus`.
      documents: numbers of documents, in the order to go through them.
      max_seq_length: what a text and two special tokens must fit into.
      sep_id: the id that stands between documents.

    Returns:
      (pieces of all texts one after another, with the dtype of the corpus; int64 array, the length of each).
    """
    room = max_seq_length - _SPECIAL_TOKENS_OF_A_TEXT
    separator = np.array([sep_id], corpus.pieces.dtype)
    starts, document_starts = corpus.sentence_starts.tolist(), corpus.document_starts.tolist()
    parts, lengths = [], []
    used = 0
    for document in documents:
        if 0 < used < room - 1:  # room for the separator and at least one piece
            parts.append(separator)
            used += 1
        elif used:
            lengths.append(used)
            used = 0
        first, last = document_starts[document : document + 2]
        for sentence in range(first, last):
            start, end = starts[sentence], starts[sentence + 1]
            if used and used + end - start > room:
                used = _close(parts, lengths, used, separator)
            while end - start > room:
                parts.append(corpus.pieces[start : start + room])
                lengths.append(room)
                start += room
            parts.append(corpus.pieces[start:end])
            used += end - start
    if used:
        _close(parts, lengths, used, separator)
    pieces = np.concatenate(parts) if parts else corpus.pieces[:0]
    return pieces, np.array(lengths, np.int64)


def _close(parts, lengths, used, separator):
    """Ends a text; a separator at its end is removed."""
    if parts[-1] is separator:
        parts.pop()
        used -= 1
    if used:
        lengths.append(used)
    return 0
