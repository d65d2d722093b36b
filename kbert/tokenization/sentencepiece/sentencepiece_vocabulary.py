"""The vocabulary of a SentencePiece model: the model file <-> ids, in XLM-R's numbering or in its own."""

import re
from pathlib import Path

from kbert.files.file_format import require_downloaded
from kbert.tokenization.base_vocabulary import ROBERTA_TOKENS, BaseVocabulary, SpecialTokens
from kbert.tokenization.character_classes import IDEOGRAPHS, UNSPACED_LETTERS, in_python

MODEL_FILE = "sentencepiece.bpe.model"
WORD_START = "\u2581"  # the character that SentencePiece writes for a space
# Is no character. Before a text it takes the space that SentencePiece puts before each.
IN_NO_PIECE = "\U0010ffff"
_UNSPACED = re.compile(rf"(?=\w)[{in_python(IDEOGRAPHS + UNSPACED_LETTERS)}]")  # but no vowel sign


class SentencePieceVocabulary(BaseVocabulary):
    """The tokens of a SentencePiece model.

    With RoBERTa's special tokens the ids are XLM-R's: four special tokens, then the pieces from the model's
    third on, each one higher than in the model, and `<mask>` at the end. With others the ids are the model's
    own, as in ALBERT, and it must hold the special tokens.

    Args:
      model: the content of the model file.
      special_tokens: the `SpecialTokens`.
      source: a name for messages, such as the path of the file.

    Attributes:
      model: as given.
      has_xlmr_ids: whether the ids are XLM-R's.

    Raises:
      ValueError: for bytes that are no model, and as `BaseVocabulary`.

    Reference: fairseq's XLM-R; transformers, `XLMRobertaTokenizer`.
    """

    kind = "sentencepiece"

    def __init__(
        self, model: bytes, special_tokens: SpecialTokens = ROBERTA_TOKENS, source: str = "vocabulary"
    ):
        self.model = model
        self.has_xlmr_ids = tuple(special_tokens) == ROBERTA_TOKENS
        pieces = _pieces(model, source)
        if self.has_xlmr_ids:
            if pieces[:3] != ["<unk>", "<s>", "</s>"]:
                raise ValueError(
                    f"{source} begins with the tokens {pieces[:3]}; expected <unk>, <s>, </s>, from which "
                    "XLM-R's ids are made."
                )
            pieces = ["<s>", "<pad>", "</s>", "<unk>", *pieces[3:], "<mask>"]
        super().__init__(pieces, special_tokens, source)

    @classmethod
    def from_file(
        cls, path: str | Path, special_tokens: SpecialTokens = ROBERTA_TOKENS
    ) -> "SentencePieceVocabulary":
        """Reads a model file. Raises ValueError as the class does, and where the file is missing."""
        path = Path(path)
        if not path.is_file():
            raise ValueError(f"{path} does not exist; expected a SentencePiece model.")
        require_downloaded(path)
        return cls(path.read_bytes(), special_tokens, str(path))

    def continues_word(self, token):
        """Pieces of scripts without blanks are words, as each ideograph is one of WordPiece."""
        return not (token.startswith(WORD_START) or _UNSPACED.match(token))

    def as_text(self, token):
        return token.replace(WORD_START, " ").strip()

    def files(self):
        return {MODEL_FILE: self.model}


def _pieces(model, source):
    from sentencepiece import SentencePieceProcessor

    try:
        processor = SentencePieceProcessor(model_proto=model)
        return [processor.id_to_piece(index) for index in range(len(processor))]
    except (RuntimeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{source} ({len(model):,} bytes) is no whole SentencePiece model ({error}); copy the file again."
        ) from None
