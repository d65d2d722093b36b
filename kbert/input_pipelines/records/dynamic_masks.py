"""Records without masks -> batches with new masks in every epoch, by the same code that masks records."""

import numpy as np
import tensorflow as tf

from kbert.features import MASK_FEATURES, PRETRAINING_RECORDS, Feature, pretraining_features
from kbert.input_pipelines.masking import PieceMasker
from kbert.manifest import Manifest
from kbert.tokenization.base_vocabulary import BaseVocabulary

# The settings in the manifest that are arguments of `PieceMasker`.
_MASKING = ("max_predictions_per_seq", "masked_lm_prob", "do_whole_word_mask", "max_ngram_size")


def has_dynamic_masks(manifest: Manifest) -> bool:
    """Whether these are pretraining records without masks."""
    return manifest.kind == PRETRAINING_RECORDS and MASK_FEATURES[0] not in manifest.features


def masking_settings(manifest: Manifest) -> dict:
    """The settings by which reading masks these records, name -> value; none where they have masks."""
    return {name: manifest.settings[name] for name in _MASKING} if has_dynamic_masks(manifest) else {}


def batch_features(manifest: Manifest) -> dict[str, Feature]:
    """The features of a batch: those of the records, and the masks that reading adds."""
    if not has_dynamic_masks(manifest):
        return manifest.features
    (length,) = manifest.features["input_ids"].shape
    all_features = pretraining_features(length, manifest.settings["max_predictions_per_seq"])
    return manifest.features | {name: all_features[name] for name in MASK_FEATURES}


class DynamicMasks:
    """Masks batches with the settings in the manifest.

    The masks of a batch depend only on `seed` and the position of the batch. So a resumed run sees the same
    masks that an uninterrupted run would have seen.

    Args:
      manifest: the manifest of records without masks.
      vocabulary: the vocabulary of these records.
      seed: a tuple of non-negative integers.
    """

    def __init__(self, manifest: Manifest, vocabulary: BaseVocabulary, seed: tuple[int, ...]):
        self._features = batch_features(manifest)
        self._seed = seed
        self._masker = PieceMasker(vocabulary, **masking_settings(manifest))

    def __call__(self, batches: tf.data.Dataset, first: int = 0, step: int = 1):
        """Batches with `input_ids` masked and the masked-LM features added.

        Args:
          batches: a dataset of dicts with `input_ids` and `input_mask`, int32 (batch, seq_length).
          first: the position of the first batch.
          step: the difference between the positions of two consecutive batches.
        """
        return batches.enumerate().map(
            lambda index, batch: self._masked(batch, first + step * index),
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )

    def _masked(self, batch, position):
        names = ("input_ids", *MASK_FEATURES)
        arrays = tf.numpy_function(
            self._mask,
            [batch["input_ids"], batch["input_mask"], position],
            [getattr(tf, self._features[name].dtype) for name in names],
            stateful=False,
        )
        # Tensors from `numpy_function` have no static shape, and XLA needs one.
        arrays[0].set_shape(batch["input_ids"].shape)
        for name, array in zip(MASK_FEATURES, arrays[1:], strict=True):
            array.set_shape([batch["input_ids"].shape[0], *self._features[name].shape])
        return batch | dict(zip(names, arrays, strict=True))

    def _mask(self, input_ids, input_mask, position):
        generator = np.random.default_rng((*self._seed, int(position)))
        return tuple(self._masker(input_ids, input_mask.sum(axis=1), generator))
