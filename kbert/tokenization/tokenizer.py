"""A vocabulary -> the graph ops that cut texts with it."""

from typing import cast

from kbert.tokenization.base_tokenizer import BaseTokenizer
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.bpe.bpe_tokenizer import BytePairTokenizer
from kbert.tokenization.bpe.bpe_vocabulary import BytePairVocabulary
from kbert.tokenization.sentencepiece.sentencepiece_tokenizer import SentencePieceTokenizer
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer


def build_tokenizer(vocabulary: BaseVocabulary) -> BaseTokenizer:
    """The tokenizer of a vocabulary of any kind."""
    if isinstance(vocabulary, BytePairVocabulary):
        return BytePairTokenizer(vocabulary)
    if isinstance(vocabulary, SentencePieceVocabulary):
        return SentencePieceTokenizer(vocabulary)
    return WordPieceTokenizer(cast(Vocabulary, vocabulary))
