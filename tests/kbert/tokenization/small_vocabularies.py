"""Small vocabularies of byte-level BPE and SentencePiece, made here."""

import functools
import io

from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, BytePairVocabulary

TEXTS = ("The doctor walks to the house.", "Ein Haus, zwei Häuser; the houses of the doctors!")


def bpe_vocabulary(merges) -> BytePairVocabulary:
    """All bytes, and what the merges make."""
    made = dict.fromkeys(left + right for left, right in merges)  # a token may be made in two ways
    return BytePairVocabulary(["<s>", "<pad>", "</s>", "<unk>", *BYTE_CHARACTERS, *made, "<mask>"], merges)


@functools.cache
def sentencepiece_model(vocab_size: int = 60) -> bytes:
    """A unigram model of `TEXTS`, with SentencePiece's usual first pieces: <unk>, <s>, </s>."""
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 20),
        model_writer=model,
        vocab_size=vocab_size,
        model_type="unigram",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()
