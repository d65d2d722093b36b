"""Texts -> ids of byte-level BPE, in the graph."""

from kbert.tokenization.base_tokenizer import BaseTokenizer


class BytePairTokenizer(BaseTokenizer):
    pass
