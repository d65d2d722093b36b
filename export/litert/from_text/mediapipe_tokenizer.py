"""How MediaPipe reads a text for a BERT model: its rules in Python, to find what it reads otherwise.

Source of the rules: MediaPipe's bert_preprocessor_calculator.cc and tokenizers/bert_tokenizer.h.
tests/export/mediapipe holds the ids beside those of MediaPipe 1.2.2 itself.
"""

import re
import unicodedata

from kbert.tokenization.character_classes import IDEOGRAPHS, in_python
from kbert.tokenization.greedy_match import GreedyMatcher
from kbert.tokenization.python.text_inputs import TextInputs
from kbert.tokenization.python.wordpiece_tokenizer import WordPieceTokenizer
from kbert.tokenization.vocabulary import LINE_OF_EMPTY_TOKEN, Vocabulary

MAX_BYTES_PER_WORD = 100  # kDefaultMaxBytesPerToken: longer words become [UNK]
_NO_SPACES = re.compile(r"[^ \t\n\f\r]+")  # RE2's \s
_ASCII_LOWER = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}
# ASCII symbols and the ideograph blocks; Unicode's punctuation stands alone as well.
_ALONE = re.compile(rf"[!-/:-@\[-`{{-~{in_python(IDEOGRAPHS)}]")


class MediaPipeTokenizer(TextInputs):
    """Texts -> the ids that MediaPipe's TextClassifier and TextEmbedder give to a model.

    Lower case is for ASCII alone, accents stay, white space is ASCII's, nothing is dropped, and a text ends
    at its first NUL. Punctuation is what the running Python's Unicode says. MediaPipe cuts words into pieces
    and long texts at their end as BERT does.

    Args, call arguments and returned values are those of `TextInputs`.
    """

    def __init__(self, vocabulary: Vocabulary, max_seq_length: int):
        super().__init__(vocabulary, max_seq_length)
        self.tokenizer = _Pieces(vocabulary)


class _Pieces(WordPieceTokenizer):
    def __init__(self, vocabulary):
        super().__init__(vocabulary)
        self._longest_word = MAX_BYTES_PER_WORD  # in characters, so the limit in bytes below comes first
        # MediaPipe strips no line, so it can meet this one in a text.
        if "" in vocabulary.ids:
            self._ids = {**vocabulary.ids, LINE_OF_EMPTY_TOKEN: vocabulary.ids[""]}
            self._match = GreedyMatcher(self._ids)

    def __call__(self, text):
        words = ("[UNK]" if len(word.encode()) > MAX_BYTES_PER_WORD else word for word in split_words(text))
        return [index for word in words for index in self._pieces(word)]


def split_words(text: str) -> list[str]:
    """The words, punctuation marks and ideographs that WordPiece sees."""
    ended = text.partition("\0")[0].translate(_ASCII_LOWER)
    alone = {char for char in set(ended) if _ALONE.match(char) or unicodedata.category(char).startswith("P")}
    return _NO_SPACES.findall("".join(f" {char} " if char in alone else char for char in ended))
