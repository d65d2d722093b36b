"""Checks that the numbers of features are in their valid range, when rows are read.

A compiled kernel cannot raise an error: on an accelerator an id outside its table, or a label outside the
classes, would silently give some number, and training would learn from it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf

from kbert.features import LABEL_FEATURE, SPAN_FEATURES
from kbert.input_pipelines.records.record_files import open_shard
from kbert.manifest import Manifest

_SMALLEST, _LARGEST = -(1 << 31), (1 << 31) - 1  # the range of int32; records store int64
_STORED = {"int32": tf.int64, "float32": tf.float32}
_RECORDS_AT_ONCE = 1024
# What is no example; the second where TensorFlow's message quotes its bytes and they are no UTF-8.
PARSE_ERRORS = (tf.errors.InvalidArgumentError, UnicodeDecodeError)


def ranges(manifest: Manifest) -> dict[str, tuple[int, int]]:
    """Smallest and largest number of each integer feature."""
    vocabulary = (0, manifest.vocabulary["size"] - 1)
    known = {
        "input_ids": vocabulary,
        "input_mask": (0, 1),
        "segment_ids": (0, 1),
        "masked_lm_ids": vocabulary,
        "next_sentence_labels": (0, 1),
    }
    features = manifest.features
    if "input_ids" in features:
        positions = (0, features["input_ids"].shape[-1] - 1)
        known |= dict.fromkeys(("masked_lm_positions", *SPAN_FEATURES), positions)
    if choices := _dataset_list(manifest, "choices"):
        known[LABEL_FEATURE] = (0, len(choices) - 1)
    if LABEL_FEATURE in features and (labels := _dataset_list(manifest, "labels")):
        known[LABEL_FEATURE] = _label_range(len(labels), features)
    return {
        name: known.get(name, (_SMALLEST, _LARGEST))
        for name, feature in features.items()
        if feature.dtype == "int32"
    }


def _label_range(number, features):
    """That of label ids, or of the 0 and 1 that tell which of several labels an example has."""
    shape = features[LABEL_FEATURE].shape
    is_for_tokens = "input_ids" in features and shape == features["input_ids"].shape
    if shape == (number,) and not is_for_tokens:
        return 0, 1
    # With a label for every token, a negative label means that the token has none.
    return _SMALLEST if shape else 0, number - 1


def _dataset_list(manifest, name):
    """A list of the config that the records were made with, or None."""
    dataset = manifest.settings.get("dataset")
    values = dataset.get(name) if isinstance(dataset, dict) else None
    return values if isinstance(values, list) else None


def parse(serialized: tf.Tensor, manifest: Manifest) -> dict[str, tf.Tensor]:
    """Serialized examples -> name -> tensor of shape [batch, *shape]; int64, as it is stored, or float32."""
    layout = {
        name: tf.io.FixedLenFeature(feature.shape, _STORED[feature.dtype])
        for name, feature in manifest.features.items()
    }
    return tf.io.parse_example(serialized, layout)


def require_ranges(examples: Mapping[str, tf.Tensor], manifest: Manifest) -> tf.Operation:
    """A graph operation that fails with InvalidArgumentError when a number is out of its range.

    Args:
      examples: a batch as it is stored, int64 and float32; a cast to int32 would change numbers out of range.
      manifest: the manifest of the records.
    """
    fine = []
    for name, (smallest, largest) in ranges(manifest).items():
        # One comparison checks both ends: as unsigned numbers, negative differences are very large.
        above = tf.bitcast(examples[name] - smallest if smallest else examples[name], tf.uint64)
        fine.append(tf.reduce_all(above <= largest - smallest))
    for name, feature in manifest.features.items():
        if feature.dtype == "float32":
            fine.append(tf.reduce_all(tf.math.is_finite(examples[name])))
    return tf.debugging.Assert(tf.reduce_all(fine), ["a number of a record is out of its range"])


def wrong_numbers(columns: Mapping[str, np.ndarray], manifest: Manifest) -> str | None:
    """What is out of range in a batch of stored columns, as a part of a sentence, or None."""
    for name, (smallest, largest) in ranges(manifest).items():
        values = np.asarray(columns[name])
        wrong = values[(values < smallest) | (values > largest)]
        if wrong.size:
            return f"{name} holds {wrong.flat[0]}, expected {smallest} to {largest}"
    for name, feature in manifest.features.items():
        if feature.dtype == "float32" and not np.isfinite(columns[name]).all():
            return f"{name} holds a number that is not finite"
    return None


def wrong_records(directory: str | Path, manifest: Manifest) -> Iterator[str]:
    """Yields a sentence for each record of whole shards without the right features or ranges."""
    for path in (Path(directory) / shard.file for shard in manifest.shards):
        for index, records in enumerate(open_shard(path).batch(_RECORDS_AT_ONCE)):
            if not _problem(records, manifest):
                continue
            for row in range(len(records)):
                if problem := _problem(records[row : row + 1], manifest):
                    yield f"{path} record {index * _RECORDS_AT_ONCE + row}: {problem}"


def _problem(records, manifest):
    try:
        columns = parse(records, manifest)
    except PARSE_ERRORS:
        return f"it does not hold {', '.join(manifest.features)} as the manifest says"
    return wrong_numbers({name: column.numpy() for name, column in columns.items()}, manifest)
