"""Token ids of texts -> [CLS] a [SEP] b [SEP] and padding, and back, by NumPy: many rows at once."""

from collections.abc import Mapping

import numpy as np

from kbert.tokenization.base_vocabulary import BaseVocabulary


def pack(
    pieces: np.ndarray,
    first_lengths: np.ndarray,
    second_lengths: np.ndarray | None,
    vocabulary: BaseVocabulary,
    max_seq_length: int,
) -> dict[str, np.ndarray]:
    """The encoder inputs of texts that fit, laid out as the graph's `SegmentPacker` does.

    Args:
      pieces: integer array (all pieces,): the first and the second text of every row in turn.
      first_lengths, second_lengths: int64 (rows,); None where there are no second texts.
      vocabulary: its special tokens stand around the texts.
      max_seq_length: the length of a row, special tokens included.

    Returns:
      dict of int32 arrays (rows, max_seq_length): input_ids, input_mask, segment_ids.
    """
    position = np.arange(max_seq_length, dtype=np.int32)
    first_end = first_lengths[:, np.newaxis].astype(np.int32) + 1  # the position of the [SEP] after it
    is_text = (position > 0) & (position < first_end)
    end, segment_ids = first_end, np.zeros(is_text.shape, np.int32)
    if second_lengths is not None:
        before = first_end + vocabulary.pair_separators - 1
        end = before + second_lengths[:, np.newaxis].astype(np.int32) + 1
        is_text |= (position > before) & (position < end)
        if vocabulary.pair_separators == 1:
            segment_ids[:] = (position > first_end) & (position <= end)
    input_mask = position <= end
    input_ids = np.where(input_mask, np.int32(vocabulary.sep_id), np.int32(vocabulary.pad_id))
    input_ids[:, 0] = vocabulary.cls_id
    input_ids[is_text] = pieces
    return {"input_ids": input_ids, "input_mask": input_mask.astype(np.int32), "segment_ids": segment_ids}


def second_texts(inputs: Mapping[str, np.ndarray], sep_id: int, pair_separators: int) -> np.ndarray:
    """Where the second texts of packed rows stand, with the separator behind each.

    Args:
      inputs: input_ids, input_mask and segment_ids, integer arrays (..., length), as `pack` makes them.
      sep_id, pair_separators: the vocabulary's.

    Returns:
      A bool array (..., length).
    """
    if pair_separators == 1:
        return inputs["segment_ids"] > 0
    is_separator = inputs["input_ids"] == sep_id
    is_second = np.zeros_like(is_separator)
    after_two = np.logical_or.accumulate(is_separator[..., :-1] & is_separator[..., 1:], axis=-1)
    is_second[..., 2:] = after_two[..., :-1]
    return is_second & (inputs["input_mask"] > 0)
