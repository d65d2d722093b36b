"""Words and where they stand in their text, in code points.

`split_words` makes none, one or several characters of each character of a text. How many depends on that
character alone: a capital sigma looks at its neighbours, and becomes one letter either way. So no rule has to
carry places along. Each different character of a batch is split by itself, which counts what it leaves in the
words, and these counts say from where each character of the words came.
"""

from typing import NamedTuple

import tensorflow as tf

from kbert.tokenization.word_splitter import is_accent, is_white_space, split_words


class OffsetWords(NamedTuple):
    """Words with their places in the text.

    Attributes:
      words: string RaggedTensor of shape [batch, (words)].
      starts: int32 RaggedTensor of shape [batch, (words)]: the first code point of the word.
      ends: int32 RaggedTensor of shape [batch, (words)]: the code point after its last.
    """

    words: tf.RaggedTensor
    starts: tf.RaggedTensor
    ends: tf.RaggedTensor


def split_words_with_offsets(texts: tf.Tensor, do_lower_case: bool) -> OffsetWords:
    """Splits as `split_words` and tells where each word stands.

    `text[start:end]` in Python is the source of a word, where `text` is decoded with `errors="ignore"`.
    Deleted characters inside of a word are in its span, those before and behind it are not. Accents that
    lower-casing dropped belong to the character before them, so they are in the span of a word that ends
    with it. docs/tokenization.md has all rules.

    Args:
      texts: string tensor of shape [batch]; bytes that are not UTF-8 are ignored and have no place.
      do_lower_case: lower-case and strip accents.

    Returns:
      `OffsetWords`.

    Example:
      >>> import tensorflow as tf
      >>> from kbert.tokenization.word_offsets import split_words_with_offsets
      >>> words, starts, ends = split_words_with_offsets(tf.constant(["Cafés, no"]), do_lower_case=True)
      >>> words.to_list(), starts.to_list(), ends.to_list()
      ([[b'cafes', b',', b'no']], [[0, 5, 7]], [[5, 6, 9]])
    """
    words = split_words(texts, do_lower_case)
    starts, ends = spans(texts, words, characters_of(words), do_lower_case)
    return OffsetWords(words, starts, ends)


def characters_of(words: tf.RaggedTensor) -> tf.Tensor:
    """How many code points each word has: int32 tensor of shape [all words]."""
    return tf.strings.length(words.flat_values, unit="UTF8_CHAR")


def spans(texts, words, characters, do_lower_case, pieces=None, piece_characters=None):
    """Where the words stand in their texts, or the pieces that they were cut into.

    Args:
      texts: string tensor of shape [batch].
      words: what `split_words` made of them, string RaggedTensor of shape [batch, (words)].
      characters: `characters_of(words)`.
      do_lower_case: as for `split_words`.
      pieces: RaggedTensor of shape [batch, (pieces)], in the order of the words; None for the words.
      piece_characters: int32 tensor of shape [all pieces]: of how many code points of its word each piece is
        made, none left over.

    Returns:
      Two int32 RaggedTensors of the shape of `pieces` or `words`: starts and ends.
    """
    if pieces is None:
        pieces, piece_characters = words, characters
    code_points = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")  # [batch, (code points)]
    kept, stops, accents = _what_becomes_of(code_points.flat_values, do_lower_case)
    sources = tf.repeat(tf.range(tf.size(kept)), kept)  # of each character of the words
    with tf.control_dependencies([_check_counts(characters, sources)]):
        ends = _ends(sources, kept, characters, _ends_with_accents(code_points, stops, accents))

    after = tf.cumsum(piece_characters)
    row_starts = tf.cast(tf.gather(code_points.row_starts(), pieces.value_rowids()), tf.int32)
    return (
        pieces.with_flat_values(tf.gather(sources, after - piece_characters) - row_starts),
        pieces.with_flat_values(tf.gather(ends, after - 1) - row_starts),
    )


def _what_becomes_of(code_points, do_lower_case):
    """Three tensors of the shape of `code_points`.

    kept, int32: how many characters of the words each becomes.
    stops, bool: whether it is kept or white space, so that no accent behind it belongs to one before it.
    accents, bool: whether it is an accent that lower-casing drops.
    """
    different, places = tf.unique(code_points)
    characters = tf.strings.unicode_encode(different[:, tf.newaxis], "UTF-8")
    words = split_words(characters, do_lower_case)
    kept = tf.reduce_sum(words.with_flat_values(characters_of(words)), axis=1)
    stops = (kept > 0) | is_white_space(characters)
    accents = (kept == 0) & is_accent(characters)
    return tf.gather(kept, places), tf.gather(stops, places), tf.gather(accents, places)


def _ends_with_accents(code_points, stops, accents):
    """The end of each code point together with the dropped accents that belong to it: int32 [code points].

    An accent belongs to the character before it, whatever other deleted characters stand between.
    """
    ends = tf.range(1, tf.size(stops) + 1)
    accents = tf.cast(tf.where(accents)[:, 0], tf.int32)
    stop_places = tf.cast(tf.where(stops)[:, 0], tf.int32)
    # The number of stops before each accent; without any, or only in rows before, the accent stands alone.
    stops_before = tf.gather(tf.cumsum(tf.cast(stops, tf.int32)), accents)
    bases = tf.gather(tf.concat([[-1], stop_places], axis=0), stops_before)
    row_starts = tf.gather(code_points.row_starts(), tf.gather(code_points.value_rowids(), accents))
    has_base = bases >= tf.cast(row_starts, tf.int32)
    bases, accents = tf.boolean_mask(bases, has_base), tf.boolean_mask(accents, has_base)
    return tf.tensor_scatter_nd_max(ends, bases[:, tf.newaxis], accents + 1)


def _ends(sources, kept, characters, ends_with_accents):
    """The end in the texts of each character of the words: int32 [characters of all words].

    Inside a word a character reaches to the next one, and what was deleted between them is its own.
    """
    words = tf.repeat(tf.range(tf.size(characters)), characters)
    # A Hangul syllable becomes several characters; the next one is the one after the last of these.
    following = tf.gather(tf.cumsum(kept), sources)
    is_inside = tf.gather(words, following - 1) == tf.gather(tf.concat([words, [-1]], axis=0), following)
    next_sources = tf.gather(tf.concat([sources, [-1]], axis=0), following)
    return tf.where(is_inside, next_sources, tf.gather(ends_with_accents, sources))


def _check_counts(characters, sources):
    return tf.debugging.assert_equal(
        tf.reduce_sum(characters),
        tf.size(sources),
        "The words have another number of characters than those of the texts leave one by one, so offsets "
        "would be wrong. Please report the text.",
    )
