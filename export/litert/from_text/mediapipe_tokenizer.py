"""How MediaPipe reads a text for a BERT model: its rules in Python, to find what it reads otherwise.

Source of the rules: MediaPipe's bert_preprocessor_calculator.cc and tokenizers/bert_tokenizer.h.
tests/export/mediapipe holds the ids beside those of MediaPipe 1.2.2 itself.
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import numpy as np

MAX_BYTES_PER_WORD = 100  # kDefaultMaxBytesPerToken: longer words become [UNK]
_SPACES = frozenset(" \t\n\f\r")  # RE2's \s
_ASCII_LOWER = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}
# ASCII symbols and the ideograph blocks; Unicode's punctuation stands alone as well.
_ALONE = re.compile(
    r"[!-/:-@\[-`{-~\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002B73F"
    r"\U0002B740-\U0002B81F\U0002B820-\U0002CEAF\uF900-\uFAFF\U0002F800-\U0002FA1F]"
)


class MediaPipeTokenizer:
    """Texts -> the ids that MediaPipe's TextClassifier and TextEmbedder give to a model.

    Lower case is for ASCII alone, accents stay, white space is ASCII's, nothing is dropped, and a text ends
    at its first NUL. Punctuation is what the running Python's Unicode says.

    Args:
      vocab_file: a vocab.txt; an id is the number of a line.
      max_seq_length: of the model's inputs.

    Call arguments:
      texts: the texts.

    Returns:
      dict of int32 arrays of shape (texts, max_seq_length): input_ids, input_mask, segment_ids.
    """

    def __init__(self, vocab_file, max_seq_length: int):
        lines = Path(vocab_file).read_bytes().decode("utf-8").split("\n")
        self._ids = {line.removesuffix("\r"): number for number, line in enumerate(lines) if line}
        self._length = max_seq_length

    def __call__(self, texts: Iterable[str]) -> dict[str, np.ndarray]:
        rows = [self._row(text) for text in texts]
        ids = np.zeros((len(rows), self._length), np.int32)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)], mask[number, : len(row)] = row, 1
        return {"input_ids": ids, "input_mask": mask, "segment_ids": np.zeros_like(ids)}

    def _row(self, text) -> list[int]:
        pieces = [piece for word in words_of(text) for piece in self._pieces(word)]
        whole = ["[CLS]", *pieces[: self._length - 2], "[SEP]"]
        return [self._ids[piece] for piece in whole]

    def _pieces(self, word) -> list[str]:
        """Greedy longest match first; one [UNK] when a rest has no match."""
        if len(word.encode("utf-8")) > MAX_BYTES_PER_WORD:
            return ["[UNK]"]
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._ids), None)
            if end is None:
                return ["[UNK]"]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


def words_of(text: str) -> list[str]:
    """The words, punctuation marks and ideographs that WordPiece sees."""
    words, starts_new = [], True
    for character in text.partition("\0")[0].translate(_ASCII_LOWER):
        alone = _stands_alone(character)
        if character not in _SPACES:
            if alone or starts_new:
                words.append(character)
            else:
                words[-1] += character
        starts_new = alone or character in _SPACES
    return words


def _stands_alone(character) -> bool:
    return bool(_ALONE.match(character)) or unicodedata.category(character).startswith("P")
