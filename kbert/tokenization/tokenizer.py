"""A vocabulary -> the graph ops that cut texts with it."""

from kbert.tokenization.base_vocabulary import BaseVocabulary


def build_tokenizer(vocabulary: BaseVocabulary):
    """The tokenizer of a vocabulary: see `WordPieceTokenizer` for what each of the three kinds does."""
    if vocabulary.kind == "bpe":
        from kbert.tokenization.bpe_tokenizer import BytePairTokenizer

        return BytePairTokenizer(vocabulary)
    if vocabulary.kind == "sentencepiece":
        from kbert.tokenization.sentencepiece_tokenizer import SentencePieceTokenizer

        return SentencePieceTokenizer(vocabulary)
    from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer

    return WordPieceTokenizer(vocabulary)
