"""Words -> windows of pieces, and where the first piece of each word stands in them. Core and TF-Text ops.

Training, evaluation and the exported graph go through these functions, so a word stands in the same window
for all of them.
"""

from typing import NamedTuple

from kbert.late_tensorflow import tf
from kbert.tokenization import long_texts, window_packer


class PackedWindows(NamedTuple):
    """Windows, and the window that each piece counts in: the one that shows most of the text around it.

    Args:
      features: input_ids, input_mask and segment_ids, each int32 of shape [windows, length].
      owners: int32 of shape [windows], the row of the context that each window is a part of.
      positions: int32 of shape [pieces, 2]: window and position of each piece, in the order of the contexts.
    """

    features: dict
    owners: "tf.Tensor"
    positions: "tf.Tensor"


class WordWindows:
    """Cuts words into pieces, and pieces into windows.

    Args:
      text_inputs: the `TextInputs`, whose vocabulary, tokenizer and length these windows have.
      doc_stride: how many pieces further each window begins; None takes half of what a window holds.

    Attributes:
      room: the pieces that a window holds.

    Raises:
      ValueError: as `require_stride`.
    """

    def __init__(self, text_inputs, doc_stride: int | None):
        vocabulary, max_seq_length = text_inputs.vocabulary, text_inputs.max_seq_length
        self.room = max_seq_length - vocabulary.count_special(1)
        long_texts.require_stride(max_seq_length, doc_stride)
        self._tokenizer = text_inputs.tokenizer
        self._packer = window_packer.WindowPacker(
            vocabulary, max_seq_length, doc_stride or max(1, self.room // 2)
        )
        self._unknown = vocabulary.unk_id

    def pieces(self, words: "tf.Tensor") -> "tf.RaggedTensor":
        """The pieces of each word, int32 [words, (pieces)]; [UNK] for a word that has none.

        So every word has a first piece, also one of control characters alone, which the tokenizer drops.

        Args:
          words: string tensor of shape [words]; each is tokenized by itself.
        """
        pieces = self._tokenizer.tokenize_words(words)
        missing = tf.cast(tf.equal(pieces.row_lengths(), 0), tf.int64)
        unknown = tf.fill([tf.reduce_sum(missing)], tf.cast(self._unknown, tf.int32))
        return tf.concat([pieces, tf.RaggedTensor.from_row_lengths(unknown, missing)], axis=1)

    def windows(self, contexts: "tf.RaggedTensor", pad_to_longest: bool = False) -> PackedWindows:
        """The windows of contexts, int32 [batch, (pieces)]; see `WindowPacker`."""
        windows = self._packer(contexts, pad_to_longest=pad_to_longest)
        chosen = window_packer.has_max_context(windows)
        before = tf.gather(tf.cast(contexts.row_starts(), tf.int32), windows.owners)
        numbers = window_packer.context_positions(windows) + before[:, tf.newaxis]
        positions = tf.scatter_nd(
            tf.boolean_mask(numbers, chosen)[:, tf.newaxis],
            tf.cast(tf.where(chosen), tf.int32),
            tf.stack([tf.size(contexts.flat_values), 2]),
        )
        return PackedWindows(windows.features, windows.owners, positions)

    def pack_texts(self, words: "tf.RaggedTensor") -> "tuple[PackedWindows, tf.Tensor]":
        """The windows of texts, and the window and position of each word.

        Args:
          words: string RaggedTensor of shape [batch, (words)].

        Returns:
          (`PackedWindows` padded to the longest, int32 of shape [words of all texts, 2]).
        """
        pieces = self.pieces(words.flat_values)
        windows = self.windows(words.with_flat_values(pieces).merge_dims(1, 2), pad_to_longest=True)
        return windows, tf.gather(windows.positions, pieces.row_starts())
