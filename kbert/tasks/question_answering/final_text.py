"""The original's way from pieces back to text, for numbers that are to be exactly its own.

It goes by words and guesses where pieces of words end. The offsets of the pieces know, so nothing else needs
this. Reference: google-research/bert, run_squad.py, `write_predictions` and `get_final_text`.
"""

from typing import NamedTuple

import numpy as np

from kbert.late_tensorflow import tf
from kbert.tasks.question_answering.best_spans import Rows, Span
from kbert.tokenization import word_splitter


class Words(NamedTuple):
    """A context cut at white space, and where each of the words begins and ends."""

    words: list[str]
    starts: np.ndarray
    ends: np.ndarray


def white_space_words(context: str) -> Words:
    """The words of a context by run_squad.py's own rule: space, tab, line ends and U+202F part them."""
    words, starts, inside = [], [], False
    for index, character in enumerate(context):
        if character in " \t\r\n\u202f":
            inside = False
        elif inside:
            words[-1] += character
        else:
            words.append(character)
            starts.append(index)
            inside = True
    starts = np.array(starts, np.int64)
    return Words(words, starts, starts + [len(word) for word in words])


def original_texts(spans: list[Span], rows: Rows, input_ids, context: str, vocabulary) -> list[str]:
    """What run_squad.py would write for each span.

    Args:
      spans: the candidates.
      rows: the windows that they are of.
      input_ids: int32 of shape [windows, length].
      context: the text.
      vocabulary: the `Vocabulary`.
    """
    cut = white_space_words(context)
    pieces, words = [], []
    for span in spans:
        ids = input_ids[span.window, span.start : span.end + 1]
        joined = " ".join(vocabulary.tokens[index] for index in ids)
        joined = joined.replace(" ##", "").replace("##", "")
        pieces.append(" ".join(joined.split()))
        # The word of a piece is the last one that begins at or before it.
        start, last = (rows.offsets[span.window, position, 0] for position in (span.start, span.end))
        first, last = np.searchsorted(cut.starts, [start, last], side="right") - 1
        words.append(" ".join(cut.words[first : last + 1]))
    if not spans:
        return []
    split = word_splitter.split_words(tf.constant(words), **vocabulary.rules.splitting).to_list()
    return [
        realigned(piece_text, text, b" ".join(tokens).decode("utf-8"))
        for piece_text, text, tokens in zip(pieces, words, split, strict=True)
    ]


def realigned(piece_text: str, text: str, token_text: str) -> str:
    """The part of `text` that `piece_text` stands for; all of `text` where that cannot be told.

    Args:
      piece_text: the pieces, joined to words.
      text: the words that they are of, as they were written.
      token_text: the words and punctuation marks of `text`, with spaces between.
    """
    start = token_text.find(piece_text)
    if start < 0:
        return text
    letters, token_letters = _letters(text), _letters(token_text)
    if len(letters) != len(token_letters):
        return text
    numbers = {index: number for number, index in enumerate(token_letters)}
    first, last = numbers.get(start), numbers.get(start + len(piece_text) - 1)
    if first is None or last is None:
        return text
    return text[letters[first] : letters[last] + 1]


def _letters(text):
    """The indices of all characters but spaces."""
    return [index for index, character in enumerate(text) if character != " "]
