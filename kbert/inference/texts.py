"""Checks the texts that a caller gives and turns them into lists of strings."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kbert.files import json_values
from kbert.input_pipelines.data_in_memory import (
    column_names,
    describe_columns,
    is_missing,
    plain_values,
    require_no_path,
    shown,
    text_alone,
)

# Texts of a batch. Threads share a product of few rows badly, so short texts come in larger batches: as many
# as keep to this sum of characters. A token has a character or more, but for [CLS] and [SEP], so such a batch
# has about as many tokens as 32 texts of 512 at most (docs/notes/speed.md has the speeds).
TEXTS_AT_ONCE, SHORT_TEXTS_AT_ONCE, CHARACTERS_AT_ONCE = 32, 128, 32 * 512
# Attention has a score of each token with each other: of a head at most so many at a time, as 32 texts of
# 1,024 tokens have. 32 of 8,192, in 16 heads, would need 137 GB.
SCORES_AT_ONCE = 32 * 1024**2
# UTF-8 of a token: a Chinese character has 3 bytes, English words have 4.8 a token, code 3.7, tables 1.8.
BYTES_OF_TOKEN = 3


class TextBatch(NamedTuple):
    """A batch of texts.

    Fields:
      texts: the texts.
      pairs: the second texts, with None for each text that has none; or None when none was given.
      is_alone: whether a single text was given, not in a list.
    """

    texts: list[str]
    pairs: list[str | None] | None
    is_alone: bool

    def positions_by_length(self, max_seq_length: int) -> Iterator[list[int]]:
        """The positions of all texts, a batch at a time, shortest first: less padding means less work.

        Args:
          max_seq_length: the most tokens of a text.
        """
        pairs = self.pairs or [None] * len(self.texts)

        def text(position):
            return self.texts[position] + (pairs[position] or "")

        lengths = [len(text(position)) for position in range(len(pairs))]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        positions: list[int] = []
        characters = 0
        for position in order:
            characters += lengths[position]
            is_long = len(positions) >= TEXTS_AT_ONCE and characters > CHARACTERS_AT_ONCE
            if is_long or len(positions) == SHORT_TEXTS_AT_ONCE:
                yield from split_to_fit(positions, text, max_seq_length)
                positions, characters = [], lengths[position]
            positions.append(position)
        if positions:
            yield from split_to_fit(positions, text, max_seq_length)

    def select(self, positions: list[int]) -> "TextBatch":
        """The texts at these positions, in their order."""
        pairs = self.pairs and [self.pairs[position] for position in positions]
        return TextBatch([self.texts[position] for position in positions], pairs, is_alone=False)

    def answer(self, answers):
        """The list of answers, one for each text; or the only answer, if a single text was given."""
        return answers[0] if self.is_alone else answers


def split_to_fit(
    positions: list[int], text: Callable[[int], str], max_seq_length: int, in_windows: bool = False
) -> Iterator[list[int]]:
    """The parts of a batch whose scores of attention fit into memory; a part has at least one text.

    Args:
      positions: of its texts.
      text: function from a position to the text.
      max_seq_length: the most tokens of a row.
      in_windows: whether a text that is too long becomes several rows, which are all computed at once.
    """
    part: list[int] = []
    most = 0
    for position in positions:
        whole = text(position)
        tokens = min(len(whole.encode()) // BYTES_OF_TOKEN, max_seq_length)
        # Windows overlap: all of them have about as many tokens as the text has characters.
        most = max(most, tokens * (len(whole) if in_windows else tokens))
        if len(part) >= number_at_once(most):
            yield part
            part = []
        part.append(position)
    yield part


def number_at_once(scores: int) -> int:
    """How many texts or rows are computed at once where a head has so many scores of attention for each: of
    a row the square of its tokens. One at least."""
    return max(1, SCORES_AT_ONCE // max(1, scores))


def text_batch(texts, text_pairs=None, pairs_may_miss: bool = False) -> TextBatch:
    """One or several texts, or pairs of texts, as lists.

    Args:
      texts: a string, or strings in an order: a list, an array, a column of a table, a tensor, a generator.
      text_pairs: the second texts, in the same form; or None.
      pairs_may_miss: whether None is allowed instead of a second text.

    Raises:
      ValueError: when an input is not a text (the message names its index), or when there are not as many
        second texts as texts.
    """
    texts, text_pairs = text_alone(texts), text_alone(text_pairs)
    require_no_path(texts)
    is_alone = isinstance(texts, str)
    firsts = _texts(texts, "texts")
    if text_pairs is None:
        return TextBatch(firsts, None, is_alone)
    if isinstance(text_pairs, str) != is_alone:
        alone, listed = ("texts", "text_pairs") if is_alone else ("text_pairs", "texts")
        raise ValueError(
            f"{alone} is one text, but {listed} is not; give one text for both, or a list for both."
        )
    seconds = _texts(text_pairs, "text_pairs", pairs_may_miss)
    if len(firsts) != len(seconds):
        raise ValueError(
            f"{len(firsts)} texts but {len(seconds)} text_pairs; give one second text for each text."
        )
    return TextBatch(firsts, seconds, is_alone)


def require_single_texts(pairs, source, way: str = "give the texts alone, one by one"):
    """Raises ValueError for a second text where a vector is made of each text; None is no second text.

    Args:
      pairs: the second texts.
      source: the model, for the message.
      way: how to ask it.
    """
    if (pair := next((pair for pair in pairs if pair is not None), None)) is not None:
        raise ValueError(
            f"{source} makes a vector of each text by itself, and one has the second text "
            f"{json_values.shown(pair)}; {way}."
        )


def _texts(texts, name, may_miss=False):
    if isinstance(texts, str):
        return [_text(texts, name)]
    if names := column_names(texts):  # going through a table gives the names of its columns
        raise ValueError(
            f"{name} is a {describe_columns(texts)}; give one of them, such as {name}[{names[0]!r}]."
        )
    values = plain_values(texts)
    if values is None:
        # tf.data's map and tf.function
        in_graph = "; in a graph ask loaded.text_inputs(texts)" if hasattr(texts, "graph") else ""
        raise ValueError(f"{name} is {shown(texts)}; expected a text (str) or a list of texts{in_graph}.")
    return [
        None if may_miss and is_missing(text) else _text(text, f"{name}[{position}]")
        for position, text in enumerate(values)
    ]


def _text(text, name):
    if not isinstance(text, str):
        mend = "; decode it first, for example with .decode('utf-8')" if isinstance(text, bytes) else ""
        raise ValueError(f"{name} is {shown(text)}; expected a text (str){mend}.")
    require_whole_characters(text, name)
    return text


def require_whole_characters(text: str, name: str):
    """Raises ValueError for a text with half a surrogate pair."""
    if half := json_values.find_surrogate(text):
        raise ValueError(
            f"{name} has half a surrogate pair ({half}), which UTF-8 cannot encode; read the text again with "
            "the encoding that it was written in, or remove the character."
        )
