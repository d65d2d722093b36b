"""The batch contract: name, dtype and shape of every feature, written once.

The same names go through TFRecords, batches, models, SavedModels and requests. They are those of the
original BERT (create_pretraining_data.py, run_classifier.py). Nothing here imports TensorFlow.
"""

from typing import NamedTuple

PRETRAINING_RECORDS = "pretraining"  # the kind of records that create_pretraining_data makes
ENCODER_INPUTS = ("input_ids", "input_mask", "segment_ids")
MASK_FEATURES = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")
NEXT_SENTENCE_LABELS = "next_sentence_labels"
PRETRAINING_LABELS = (*MASK_FEATURES, NEXT_SENTENCE_LABELS)
LABEL_FEATURE = "label_ids"  # one for each text, or one for each token
WORD_FEATURE = "word_ids"  # which word of its sentence a labelled token begins; -1 at all others
WINDOW_FEATURE = "window_numbers"  # which window of its text a row is, from 0; where texts have several
TARGET_FEATURE = "targets"  # the number that a regression should predict
TEACHER_SCORES = "teacher_scores"  # how well each other text of an example fits its query, says a teacher
SCORED_TOKENS = "scored_tokens"  # 1 at the tokens of a text whose vectors are compared, see late_interaction
SPAN_FEATURES = ("start_positions", "end_positions")  # of an answer in a text; the names of run_squad.py
# Of a window of a text, for each position: the first character (code point) of the text that its piece comes
# from and the one after its last, -1 where no piece of the text stands; and 1 where no other window shows
# more of the text around the piece.
PIECE_OFFSETS = "piece_offsets"
MAX_CONTEXT = "max_context"
# The next two are features of a batch, not of an example. The weight of each example: 1, or 0 for one that
# only fills up the last evaluation batch.
EXAMPLE_WEIGHTS = "example_weights"
# For an encoder that packs several texts into a row: the position in the batch of each token of the rows.
PACKED_POSITIONS = "packed_positions"


class Feature(NamedTuple):
    """One feature of one example: its `dtype` ("int32" or "float32") and its fixed `shape`."""

    dtype: str
    shape: tuple[int, ...]


def encoder_features(max_seq_length: int) -> dict[str, Feature]:
    """input_ids; input_mask: 1 at real tokens, 0 at padding; segment_ids: 1 from the second text on."""
    return {name: Feature("int32", (max_seq_length,)) for name in ENCODER_INPUTS}


def pretraining_features(
    max_seq_length: int,
    max_predictions_per_seq: int,
    *,
    with_masks: bool = True,
    with_next_sentence: bool = True,
) -> dict[str, Feature]:
    """Encoder inputs, masked-LM labels and the next-sentence label.

    `next_sentence_labels` is 0 when the second text really follows the first, and 1 when it is a random text
    (or, for sentence order prediction, when the two texts are swapped).

    Args:
      max_seq_length: the padded length.
      max_predictions_per_seq: the largest number of masked positions in one sequence.
      with_masks: False for records that are masked while they are read.
      with_next_sentence: False for records of one continuous text instead of pairs.
    """
    predictions = (max_predictions_per_seq,)
    features = encoder_features(max_seq_length)
    if with_masks:
        dtypes = ("int32", "int32", "float32")
        features |= {
            name: Feature(dtype, predictions) for name, dtype in zip(MASK_FEATURES, dtypes, strict=True)
        }
    if with_next_sentence:
        features[NEXT_SENTENCE_LABELS] = Feature("int32", (1,))
    return features
