"""Texts -> ids of a SentencePiece model, in the graph."""

from kbert.tokenization.base_tokenizer import BaseTokenizer


class SentencePieceTokenizer(BaseTokenizer):
    pass
