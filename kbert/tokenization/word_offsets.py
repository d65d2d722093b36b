"""Words and where they stand in their text, in code points.

`split_words` makes none, one or several characters of each character of a text. How many depends on that
character alone: a capital sigma looks at its neighbours, and becomes one letter either way. So no rule has to
carry positions along. Each different character of a batch is split by itself, which counts what it leaves in
the words, and these counts say from where each character of the words came.
"""

from typing import NamedTuple

import tensorflow as tf

from kbert.forked import require_own_tensorflow
from kbert.tokenization.word_splitter import is_accent, is_white_space, split_words
from kbert.tokenization.wordpiece_rules import WordPieceRules

# What becomes of a character that leaves nothing in the words.
_DELETED = 0
_WHITE_SPACE = -1
_ACCENT = -2


class OffsetWords(NamedTuple):
    """Words with their positions in the text.

    Attributes:
      words: string RaggedTensor of shape [batch, (words)].
      starts: int32 RaggedTensor of shape [batch, (words)]: the first code point of the word.
      ends: int32 RaggedTensor of shape [batch, (words)]: the code point after its last.
    """

    words: tf.RaggedTensor
    starts: tf.RaggedTensor
    ends: tf.RaggedTensor


def split_words_with_offsets(
    texts: tf.Tensor,
    do_lower_case: bool,
    strip_accents: bool | None = None,
    tokenize_chinese_chars: bool = True,
) -> OffsetWords:
    """Splits as `split_words` and tells where each word stands.

    `text[start:end]` in Python is the source of a word, where `text` is decoded with `errors="ignore"`.
    Deleted characters inside of a word are in its span, those before and behind it are not. Accents that
    were stripped belong to the character before them, so they are in the span of a word that ends with it.
    docs/tokenization.md has all rules.

    Args:
      texts: string tensor of shape [batch]; bytes that are not UTF-8 are ignored and have no position.
      do_lower_case, strip_accents, tokenize_chinese_chars: see `WordPieceRules`.

    Returns:
      `OffsetWords`.

    Examples:
      >>> import tensorflow as tf
      >>> from kbert.tokenization.word_offsets import split_words_with_offsets
      >>> words, starts, ends = split_words_with_offsets(tf.constant(["Cafés, no"]), do_lower_case=True)
      >>> words.to_list(), starts.to_list(), ends.to_list()
      ([[b'cafes', b',', b'no']], [[0, 5, 7]], [[5, 6, 9]])
    """
    rules = WordPieceRules(do_lower_case, strip_accents, tokenize_chinese_chars)
    words = split_words(texts, **rules.splitting)
    characters = count_characters(words)
    starts, ends = spans(texts, rules, characters, words, characters, tf.range(tf.size(characters)))
    return OffsetWords(words, starts, ends)


def count_characters(words: tf.RaggedTensor) -> tf.Tensor:
    """How many code points each word has: int32 tensor of shape [all words]."""
    return tf.strings.length(words.flat_values, unit="UTF8_CHAR")


def valid_utf8(texts: tf.Tensor) -> tf.Tensor:
    """Texts without the bytes that are not UTF-8: string, of the same shape."""
    require_own_tensorflow()
    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="ignore")


def joined_bytes(texts: tf.Tensor) -> tf.Tensor:
    """The bytes of texts, one text behind the other: int32 tensor of shape [bytes]."""
    return tf.cast(tf.io.decode_raw(tf.strings.reduce_join(texts), tf.uint8), tf.int32)


def characters_before_bytes(texts: tf.Tensor) -> tf.Tensor:
    """How many code points of `joined_bytes` begin before each byte: int32 tensor of shape [bytes + 1].

    Args:
      texts: string tensor of shape [batch], of UTF-8.
    """
    is_first = tf.not_equal(joined_bytes(texts) & 0b11000000, 0b10000000)
    return tf.pad(tf.cumsum(tf.cast(is_first, tf.int32)), [[1, 0]])


def value_row_ids(row_splits: tf.Tensor) -> tf.Tensor:
    """The row of each value of a ragged dimension: int32 tensor of shape [values].

    As `RaggedTensor.value_rowids`, which fills a matrix of the rows times the longest row: with one very long
    word in a long text that matrix would not fit into memory.
    """
    starts = tf.cast(row_splits[1:-1, tf.newaxis], tf.int32)
    size = tf.cast(row_splits[-1:], tf.int32)
    # Rows without values begin where the next one does; those at the end, behind the last value.
    changes = tf.scatter_nd(starts, tf.ones_like(starts[:, 0]), size + 1)
    return tf.cumsum(changes)[:-1]


def spans(texts, rules, characters, pieces, piece_characters, word_ids):
    """Where the pieces of words stand in their texts; words are pieces as well.

    Args:
      texts: string tensor of shape [batch].
      rules: the `WordPieceRules`.
      characters: `count_characters` the words of the texts.
      pieces: RaggedTensor of shape [batch, (pieces)], in the order of the words.
      piece_characters: int32 tensor of shape [all pieces]: how many code points of its word each piece has;
        together all of them.
      word_ids: int32 tensor of shape [all pieces]: the index of its word in `characters`.

    Returns:
      Two int32 RaggedTensors of the shape of `pieces`: starts and ends, in code points of the text.
    """
    code_points = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")  # [batch, (code points)]
    fates = _fates(code_points.flat_values, rules)
    kept = tf.maximum(fates, 0)
    # For each character of the words: its source, and whether it is the first or a later one from there.
    origins = tf.cast(tf.where(tf.sequence_mask(kept)), tf.int32)
    with tf.control_dependencies([_check_counts(characters, origins)]):
        after = tf.cumsum(piece_characters)  # the end of each piece, among the characters of the words
    starts = tf.gather(origins[:, 0], after - piece_characters)
    word_after = tf.gather(tf.cumsum(characters), word_ids)
    ends_alone = _ends_with_accents(fates, code_points.row_splits)
    ends = _ends(after - 1, word_after, origins, kept, ends_alone)

    row_starts = tf.cast(tf.gather(code_points.row_splits, value_row_ids(pieces.row_splits)), tf.int32)
    return pieces.with_flat_values(starts - row_starts), pieces.with_flat_values(ends - row_starts)


def _fates(code_points, rules):
    """How many characters of the words each becomes, or why none: int32, of the shape of `code_points`."""
    different, indices = tf.unique(code_points)
    characters = tf.strings.unicode_encode(different[:, tf.newaxis], "UTF-8")
    words = split_words(characters, **rules.splitting)
    kept = tf.reduce_sum(words.with_flat_values(count_characters(words)), axis=1)
    reasons = tf.where(
        is_white_space(characters), _WHITE_SPACE, tf.where(is_accent(characters), _ACCENT, _DELETED)
    )
    return tf.gather(tf.where(kept > 0, kept, reasons), indices)


def _ends(lasts, word_after, origins, kept, ends_alone):
    """The end of each piece among the code points of all texts: int32 [all pieces].

    What was deleted inside of a word belongs to the character before, which ends where the next begins: at
    the first character of the words that has another source.
    """
    sources, ranks = origins[:, 0], origins[:, 1]
    own = tf.gather(sources, lasts)
    following = lasts - tf.gather(ranks, lasts) + tf.gather(kept, own)
    following_sources = tf.gather(sources, tf.minimum(following, tf.size(sources) - 1))
    return tf.where(following < word_after, following_sources, tf.gather(ends_alone, own))


def _ends_with_accents(fates, row_splits):
    """The end of each code point with the accents that belong to it: int32, of the shape of `fates`.

    A dropped accent belongs to the character before it, whatever other deleted characters stand between.
    White space, and where a text begins, have none.
    """
    accents = tf.where(fates == _ACCENT)[:, 0]
    stops = tf.concat([[-1], tf.where((fates > 0) | (fates == _WHITE_SPACE))[:, 0]], axis=0)
    bases = tf.gather(stops, tf.searchsorted(stops, accents) - 1)
    row_starts = tf.gather(row_splits, tf.searchsorted(row_splits, accents, side="right") - 1)
    has_base = bases >= row_starts
    bases, accents = tf.boolean_mask(bases, has_base), tf.boolean_mask(accents, has_base)
    ends = tf.range(1, tf.size(fates) + 1)
    return tf.tensor_scatter_nd_max(ends, bases[:, tf.newaxis], tf.cast(accents, tf.int32) + 1)


def _check_counts(characters, origins):
    return tf.debugging.assert_equal(
        tf.reduce_sum(characters),
        tf.shape(origins)[0],
        "The words of the texts have another number of characters than the characters of the texts leave one "
        "by one, so offsets would be wrong. Please report the texts.",
    )
