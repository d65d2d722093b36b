"""Rows as another tokenizer reads their texts: which become others, why, and what that does to answers."""

import collections
import itertools
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from absl import logging

from kbert.features import ENCODER_INPUTS
from kbert.tokenization.wordpiece_rules import WordPieceRules

from ..comparison import Answered, compare, compute_metrics, predict_rows
from ..comparison_data import ComparisonData
from .mediapipe_tokenizer import MAX_BYTES_PER_WORD, split_words

MOST_LISTED = 200  # texts in a report
_SHOWN = 200  # characters of each


class OtherReading(NamedTuple):
    """A reading of all rows.

    Args:
      data: the rows with the ids of the other tokenizer.
      changed: bool (texts,): whose ids are others than BERT's rules give.
      report: `num_texts`, `read_alike`; `reasons`, how many of the others have each; and
        `read_otherwise`: for each of the first MOST_LISTED of these its place among all, the text, its
        `reasons`, and the first piece that is another, `expected` and `read`.
    """

    data: ComparisonData
    changed: np.ndarray
    report: dict

    def first_rows(self, number: int) -> dict[str, np.ndarray]:
        """The other tokenizer's ids of the first texts."""
        return {name: _flat(self.data.rows[name])[:number] for name in ENCODER_INPUTS}


def texts_by_row(task, data: ComparisonData) -> list[tuple[str, ...]]:
    """The texts of each row behind their prompts, in the order of the rows; one or two, see
    `Serving.row_texts`.

    Raises:
      ValueError: where the rows have more or fewer texts than the task says.
    """
    if data.texts is not None:
        return data.texts
    rows, each = len(_flat(data.rows["input_ids"])), len(task.serving.row_texts)
    own = task.prompts
    texts = [
        prompt + text
        for example in data.examples
        for prompt, text in zip(itertools.cycle(task.prompts_before(example, own)), task.files.texts(example))
    ]
    if len(texts) != rows * each:
        raise ValueError(
            f"{data.name} has {len(texts)} texts for {rows} rows, expected {rows * each}: a row of this file "
            f"is made of {' and '.join(task.serving.row_texts)}."
        )
    return list(zip(*[iter(texts)] * each, strict=True))


def read_otherwise(
    reader: str,
    read: Callable[[list[tuple[str, ...]]], dict],
    texts: list[tuple[str, ...]],
    data: ComparisonData,
    tokens,
    reasons: dict[str, Callable[[str], bool]],
) -> OtherReading:
    """Reads the texts of all rows with another tokenizer, and warns where that makes other ids.

    Args:
      reader: the tokenizer's name, for the warning.
      read: function from rows of texts to ENCODER_INPUTS, int32 (rows, length).
      texts: of each row, see `texts_by_row`.
      data: the rows, by BERT's rules.
      tokens: the pieces in id order.
      reasons: a table of reasons: `mediapipe_reasons` or `inside_reasons`.
    """
    exact, other = {name: _flat(data.rows[name]) for name in ENCODER_INPUTS}, read(texts)
    changed = np.any([(exact[name] != other[name]).any(axis=1) for name in ENCODER_INPUTS], axis=0)
    listed = []
    for row in map(int, np.flatnonzero(changed)):
        whole = " | ".join(texts[row])
        about = {"text": whole[:_SHOWN], "reasons": find_reasons(whole, reasons)}
        pieces = exact["input_ids"][row], other["input_ids"][row]
        first = np.argmax(pieces[0] != pieces[1])
        expected, read_as = (tokens[ids[first]] for ids in pieces)
        listed.append({"place": row} | about | {"expected": expected, "read": read_as})
    counted = collections.Counter(reason for entry in listed for reason in entry["reasons"]).most_common()
    if listed:
        logging.warning(
            "%s tokenizes %d of %d texts differently from training (%s); the report lists them.",
            reader, len(listed), len(texts), "; ".join(f"{number}: {reason}" for reason, number in counted),
        )  # fmt: skip
    report = {
        "num_texts": len(texts),
        "read_alike": len(texts) - len(listed),
        "reasons": dict(counted),
        "read_otherwise": listed[:MOST_LISTED],
    }
    shaped = {name: other[name].reshape(data.rows[name].shape) for name in ENCODER_INPUTS}
    return OtherReading(data._replace(rows=data.rows | shaped), changed, report)


def reading_quality(task, model, reading: OtherReading, answered: Answered, expected: Answered) -> dict:
    """What the other reading does to a file's answers.

    Args:
      task: the task.
      model: the file, a `LiteRTModel`.
      reading: of all rows. Only those that are read otherwise are asked again.
      answered: the file's answers to the rows by BERT's rules.
      expected: Keras's.

    Returns:
      `num_answers`; `agreement`, the share of answers that are Keras's; the task's `metrics`; and of vectors
      their `cosine` with Keras's, see `compare`.
    """

    def answer(inputs):
        answers = {name: values.copy() for name, values in answered.by_ids.items()}
        again = model.answer_ids({name: values[reading.changed] for name, values in inputs.items()})
        for name, values in again.items():
            answers[name][reading.changed] = values
        return answers

    answered_otherwise = predict_rows(task, answer, reading.data)
    comparison = compare(task, answered_otherwise, expected, reading.data)
    kept = {key: comparison[key] for key in ("num_answers", "agreement", "cosine") if key in comparison}
    return kept | {"metrics": compute_metrics(task, answered_otherwise, reading.data)}


def _flat(values) -> np.ndarray:
    """A row for each text."""
    return np.reshape(values, (-1, np.shape(values)[-1]))


# Why: what in a text can be the cause.

_SPLIT_ALIKE = " \t\n\r"  # the white space and controls that all read alike
_CONTROLS, _SPACES = ("Cc", "Cf"), ("Zs", "Zl", "Zp")


def find_reasons(text: str, table: dict[str, Callable[[str], bool]]) -> list[str]:
    """The causes of one of the tables below that a text has, in words; never empty."""
    reasons = [reason for reason, applies in table.items() if applies(text)]
    return reasons or ["a character on which Unicode's versions differ"]


def _has(text, categories):
    others = [char for char in text if char not in _SPLIT_ALIKE]
    return any(unicodedata.category(char) in categories or char == "\ufffd" for char in others)


def _folds(text):
    """Whether compatibility or case folding makes more of it than lower case does."""
    # A character at a time: the last sigma of a word stays itself in lower case, but not when folded.
    lowered = "".join(char.lower() for char in text)
    return unicodedata.normalize("NFKC", text.casefold()) != unicodedata.normalize("NFC", lowered)


_Reasons = dict[str, Callable[[str], bool]]


def _long_word(most_bytes) -> _Reasons:
    reason = f"a word of more than {most_bytes} bytes, which becomes [UNK]"
    return {reason: lambda text: any(len(word.encode("utf-8")) > most_bytes for word in split_words(text))}


_ACCENTS = "accents, which stay"
MEDIAPIPE: _Reasons = {
    _ACCENTS: lambda text: (
        unicodedata.normalize("NFD", text) != text or "Mn" in map(unicodedata.category, text)
    ),
    "capitals beyond ASCII, which stay": lambda text: any(
        char.lower() != char for char in text if not char.isascii()
    ),
    "controls or white space beyond ASCII, which stay in words": lambda text: _has(text, _CONTROLS + _SPACES),
    "a NUL, where the text ends": lambda text: "\0" in text,
    **_long_word(MAX_BYTES_PER_WORD),
}
INSIDE_CASED: _Reasons = {"controls, which split words": lambda text: _has(text, _CONTROLS)}
INSIDE_UNCASED = INSIDE_CASED | {"characters that folding changes, such as ½ ™ ß ς …": _folds}


def mediapipe_reasons(rules: WordPieceRules) -> _Reasons:
    """Why MediaPipe may read a text otherwise than a tokenizer of these rules."""
    limit = rules.max_input_chars_per_word
    reasons = {
        reason: applies for reason, applies in MEDIAPIPE.items() if rules.strip_accents or reason != _ACCENTS
    }
    if limit < MAX_BYTES_PER_WORD:
        reasons[f"a word of more than {limit} characters, which does not become [UNK]"] = lambda text: any(
            len(word) > limit for word in split_words(text)
        )
    return reasons


def inside_reasons(rules: WordPieceRules) -> _Reasons:
    """The same for the tokenizer inside, whose limit of a word is that of the rules, in bytes."""
    table = INSIDE_UNCASED if rules.do_lower_case else INSIDE_CASED
    return table | _long_word(rules.max_input_chars_per_word)
