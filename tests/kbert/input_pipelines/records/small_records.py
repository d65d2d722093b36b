"""Sets of small pretraining records with shards of any size, masked or not, compressed or not."""

import gzip
from pathlib import Path

import numpy as np
import tensorflow as tf

from kbert.features import Feature, pretraining_features
from kbert.manifest import Manifest, describe_shards
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.records.tfrecord_files import encode_examples

LENGTH, PREDICTIONS = 24, 4
NUMBERS = "example_numbers"  # the number of each example, a feature of these records alone
VOCABULARY = small_corpus.vocabulary()


def examples(number: int, seed: int = 0, with_masks=True, with_next_sentence=True) -> dict[str, np.ndarray]:
    """Columns of examples of different lengths; the feature `NUMBERS` tells which is which."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(6, LENGTH + 1, number)
    mask = (np.arange(LENGTH) < lengths[:, None]).astype(np.int32)
    ids = rng.integers(5, len(VOCABULARY), (number, LENGTH)).astype(np.int32)
    ids[:, 0] = VOCABULARY.cls_id
    ids[np.arange(number), lengths // 2] = ids[np.arange(number), lengths - 1] = VOCABULARY.sep_id
    columns = {
        "input_ids": ids * mask,
        "input_mask": mask,
        "segment_ids": (np.arange(LENGTH) > lengths[:, None] // 2).astype(np.int32) * mask,
    }
    if with_masks:
        columns |= {
            "masked_lm_positions": np.tile(np.arange(1, PREDICTIONS + 1, dtype=np.int32), (number, 1)),
            "masked_lm_ids": ids[:, 1 : PREDICTIONS + 1],
            "masked_lm_weights": np.tile(np.float32([1, 1, 0, 0]), (number, 1)),
        }
    if with_next_sentence:
        columns["next_sentence_labels"] = rng.integers(0, 2, (number, 1)).astype(np.int32)
        columns[NUMBERS] = np.arange(number, dtype=np.int32)[:, None]
    return columns


def write(
    directory: Path,
    shard_sizes,
    *,
    with_masks=True,
    with_next_sentence=True,
    suffix="",
    seed=0,
    vocabulary=VOCABULARY,
    **settings,
):
    """Writes the records of `examples`, and returns their manifest and columns."""
    directory.mkdir(parents=True)
    columns = examples(sum(shard_sizes), seed, with_masks, with_next_sentence)
    features = pretraining_features(
        LENGTH, PREDICTIONS, with_masks=with_masks, with_next_sentence=with_next_sentence
    )
    if with_next_sentence:
        features[NUMBERS] = Feature("int32", (1,))
    records = encode_examples(columns, features)
    sizes, first = {}, 0
    for index, size in enumerate(shard_sizes):
        name = f"pretraining-{index:05d}-of-{len(shard_sizes):05d}.tfrecord"
        with tf.io.TFRecordWriter(str(directory / name)) as writer:
            for record in records[first : first + size]:
                writer.write(record)
        if suffix:
            (directory / (name + suffix)).write_bytes(gzip.compress((directory / name).read_bytes()))
            (directory / name).unlink()
        sizes[name + suffix] = size
        first += size
    vocabulary.write_files(directory)
    manifest = Manifest(
        kind="pretraining",
        features=features,
        shards=describe_shards(directory, sizes),
        vocabulary=vocabulary.describe(),
        settings={
            "masking": "static" if with_masks else "dynamic",
            "max_predictions_per_seq": PREDICTIONS,
            "masked_lm_prob": 0.15,
            "do_whole_word_mask": False,
            "max_ngram_size": 1,
        }
        | settings,
    )
    manifest.write(directory)
    return manifest, columns
