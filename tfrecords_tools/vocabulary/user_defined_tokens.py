"""Adds tokens of the user, or new pieces, to a vocabulary; checks that WordPiece can match them."""

import os
import re
from collections import Counter
from collections.abc import Sequence

from kbert.files.text_file import read_lines
from kbert.tokenization import word_splitter
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.greedy_match import CONTINUATION
from kbert.tokenization.vocabulary import MAX_BYTES_PER_PIECE
from kbert.tokenization.wordpiece_rules import WordPieceRules

_UNUSED = re.compile(r"\[unused\d+\]")
# Markers such as [E1]: no text is ever cut into them, but a program may insert their ids.
_MARKER = re.compile(r"\[[^\[\]\s]+\]")


def read_tokens(value: str) -> list[str]:
    """The tokens of a file, one a line, or of a list separated by commas.

    Raises:
      ValueError: when there are none, one occurs twice, one is a special token, or one is `##` alone.
    """
    # os.path knows that a long list is no file; Path raises an error.
    lines = read_lines(value) if os.path.isfile(value) else value.split(",")
    tokens = [token for line in lines if (token := line.strip())]
    if not tokens:
        raise ValueError(
            f"user_defined_tokens={value!r} names no token; expected tokens separated by commas, or a file."
        )
    token, number = Counter(tokens).most_common(1)[0]
    if number > 1:
        raise ValueError(f"the user-defined token {token!r} is given {number} times; give it once.")
    if CONTINUATION in tokens:
        raise ValueError(
            f"the user-defined token '{CONTINUATION}' only marks the inside of a word; expected characters "
            f"after it, for example '{CONTINUATION}ing'."
        )
    for token in tokens:
        if token in BERT_TOKENS or _UNUSED.fullmatch(token):
            raise ValueError(
                f"the user-defined token {token!r} is a special token of every vocabulary; leave it out."
            )
        if (num_bytes := len(token.removeprefix(CONTINUATION).encode("utf-8"))) > MAX_BYTES_PER_PIECE:
            raise ValueError(
                f"the user-defined token {token[:20]!r}... has {num_bytes} bytes of UTF-8; expected at most "
                f"{MAX_BYTES_PER_PIECE}."
            )
    return tokens


def is_marker(token: str) -> bool:
    """Whether a token stands in square brackets, so that no text is cut into it; no `[unusedN]`."""
    return bool(_MARKER.fullmatch(token)) and not _UNUSED.fullmatch(token)


def check_tokens(tokens: Sequence[str], do_lower_case: bool, **rules):
    """Refuses tokens that WordPiece can never match, because text is changed before WordPiece sees it.

    Args:
      tokens: whole words, or parts of words that begin with `##`. Markers pass.
      do_lower_case: see `WordPieceRules`.
      rules: its further arguments.

    Raises:
      ValueError: naming the first such token, and what it is split into.
    """
    import tensorflow as tf

    own_rules = WordPieceRules(do_lower_case, **rules)
    tokens = [token for token in tokens if not is_marker(token)]
    # A letter in place of the `##` makes a word, to see what text processing does inside a word.
    words = [re.sub(f"^{CONTINUATION}", "a", token) for token in tokens]
    split = word_splitter.split_words(
        tf.constant([word.encode("utf-8") for word in words], tf.string), **own_rules.splitting
    )
    changes = "split at white space and punctuation"
    if do_lower_case:
        accents = ", stripped of accents" if own_rules.strip_accents else ""
        changes = f"lower-cased{accents} and {changes}"
    for token, word, pieces in zip(tokens, words, split.to_list(), strict=True):
        seen = [piece.decode("utf-8") for piece in pieces]
        if seen != [word]:
            raise ValueError(
                f"the user-defined token {token!r} can never be matched: before WordPiece sees it, text is "
                f"{changes}, which turns {word!r} into {seen}. Give the resulting words, or a "
                "marker such as [E1] for an id that only a program inserts."
            )
        if len(word) > own_rules.max_input_chars_per_word:
            raise ValueError(
                f"the user-defined token {token[:20]!r}... has {len(word)} characters; words of more than "
                f"{own_rules.max_input_chars_per_word} are [UNK]."
            )


def unused_slots(tokens: Sequence[str]) -> list[int]:
    """The ids of the `[unusedN]` tokens, in order."""
    return [index for index, token in enumerate(tokens) if _UNUSED.fullmatch(token)]


def fill_unused_slots(tokens: Sequence[str], pieces: Sequence[str]) -> list[str]:
    """Replaces `[unusedN]` tokens by pieces, at most as many, in order; the size stays the same."""
    filled = list(tokens)
    for slot, piece in zip(unused_slots(tokens), pieces, strict=False):
        filled[slot] = piece
    return filled
