"""The batch contract: name, dtype and shape of every feature, written once.

The same names go through TFRecords, batches, models, SavedModels and requests. They are those of the
original BERT (create_pretraining_data.py, run_classifier.py). Nothing here imports TensorFlow.
"""

from typing import NamedTuple

NEXT_SENTENCE_LABELS = "next_sentence_labels"
PRETRAINING_LABELS = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights", NEXT_SENTENCE_LABELS)
LABEL_FEATURE = "label_ids"  # run_classifier.py's name for a classifier's answers
TARGET_FEATURE = "targets"  # what a regression is to give
SPAN_FEATURES = ("start_positions", "end_positions")  # run_squad.py's names
# Weights of examples in a batch: 1 for a real one, 0 for one that only fills the last evaluation batch.
EXAMPLE_WEIGHTS = "example_weights"
ENCODER_INPUTS = ("input_ids", "input_mask", "segment_ids")
# For an encoder that packs several texts into a row: no feature of an example, but of a batch.
PACKED_PLACES = "packed_places"


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
    """Encoder inputs, masked-LM answers, and what the pair of texts is.

    `next_sentence_labels` is 1 for a random text (or, with sentence order, a swapped pair) and 0 for the real
    next one.

    Args:
      max_seq_length: the padded length.
      max_predictions_per_seq: the most masked places of one sequence.
      with_masks: False for records that are masked while they are read.
      with_next_sentence: False for records of one running text.
    """
    predictions = (max_predictions_per_seq,)
    features = encoder_features(max_seq_length)
    if with_masks:
        features |= {
            "masked_lm_positions": Feature("int32", predictions),
            "masked_lm_ids": Feature("int32", predictions),
            "masked_lm_weights": Feature("float32", predictions),
        }
    if with_next_sentence:
        features[NEXT_SENTENCE_LABELS] = Feature("int32", (1,))
    return features
