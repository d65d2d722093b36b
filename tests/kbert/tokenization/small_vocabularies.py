"""Small vocabularies of every kind, made here."""

import functools
import io

from kbert.tokenization.base_vocabulary import BERT_TOKENS, SpecialTokens
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, BytePairVocabulary
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.vocabulary import Vocabulary

TEXTS = ("The doctor walks to the house.", "Ein Haus, zwei Häuser; the houses of the doctors!")

# Marks of several classes, which fall away or stay without accents: NFD puts them in order.
MARKS = "\u0301\u0323\u302e\u1b44\ua953\U0001d165"


def bpe_vocabulary(merges) -> BytePairVocabulary:
    """All bytes, and what the merges make."""
    made = dict.fromkeys(left + right for left, right in merges)  # a token may be made in two ways
    return BytePairVocabulary(["<s>", "<pad>", "</s>", "<unk>", *BYTE_CHARACTERS, *made, "<mask>"], merges)


@functools.cache
def sentencepiece_model(vocab_size: int = 60, texts: tuple[str, ...] = TEXTS) -> bytes:
    """A unigram model of some texts, with SentencePiece's usual first pieces: <unk>, <s>, </s>."""
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 20),
        model_writer=model,
        vocab_size=vocab_size,
        model_type="unigram",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def odd_vocabulary(kind: str, rules: dict):
    """A small tokenizer with odd pieces.

    Args:
      kind: `bpe`, `sentencepiece`, `wordpiece`, `wordpiece_cased`, or `wordpiece_mpnet`, which has special
        tokens of its own in their own places.
      rules: settings of a WordPiece tokenizer.
    """
    if kind == "bpe":
        return bpe_vocabulary([("h", "o"), ("ho", "u"), ("d", "o"), ("t", "h"), ("th", "e"), ("Ġ", "the")])
    if kind == "sentencepiece":
        return SentencePieceVocabulary(sentencepiece_model())
    rules = {"do_lower_case": kind == "wordpiece"} | rules
    words = ["house", "doctor", "walk", "the", "of", "to", "a", "-", ".", ",", "日", "本", "??", "##??"]
    cased, uncased = ["Haus", "The", "naïve", "한국", "##어"], ["naive", "et", "haus", "zwei"]
    words += uncased if rules["do_lower_case"] else cased
    letters = "bcdefghijklmnopqrstuvwxyz0123456789"
    pieces = [*words, *letters, *(f"##{letter}" for letter in letters + MARKS)]
    if kind == "wordpiece_mpnet":
        tokens = ["<s>", "<pad>", "</s>", "[UNK]", *pieces, "<mask>"]
        special_tokens = SpecialTokens("<pad>", "[UNK]", "<s>", "</s>", "<mask>")
        return Vocabulary(tokens, special_tokens=special_tokens, **rules)
    return Vocabulary([*BERT_TOKENS, *pieces], **rules)
