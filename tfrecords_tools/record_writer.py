"""Features -> TFRecord shards, manifest and vocabulary, in a folder that is whole or not there.

Any kind of record is written here: pretraining or fine-tuning, as long as its features have fixed shapes.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from absl import logging

from kbert import manifest
from kbert.features import Feature
from kbert.tokenization.vocabulary import Vocabulary

MOST_SHARDS = 500  # all are open at once, and many systems allow 1,024 open files


class RecordWriter:
    """Writes examples in turn to shards `KIND-00000-of-00008.tfrecord`, beside a manifest and vocab.txt.

    All is written into the folder `OUTPUT_DIR.tmp-PID` beside `output_dir`, which `finish` renames to
    `output_dir`. Leaving the `with` block before that removes it; a kill leaves it behind under its
    temporary name and without a manifest, so nothing half-written is ever taken for whole.

    Args:
      output_dir: the folder to make. It may exist if it is empty.
      kind: the kind of example, for the manifest and the names of the shards.
      features: name -> `Feature`, as in kbert/features.py.
      vocabulary: the `Vocabulary` that the ids belong to.
      num_shards: how many files.
      settings: what the records are made with, by flag name, for the manifest.
      overwrite: replace the finished records in `output_dir`, once the new ones are whole.

    Raises:
      ValueError: when `output_dir` cannot be made or may not be replaced.

    Example:
      with RecordWriter("records", kind="pretraining", features=features, vocabulary=vocabulary) as writer:
          for batch in batches:
              writer.write(batch)
          writer.finish(statistics={"documents": 12})
    """

    def __init__(
        self,
        output_dir: str | Path,
        *,
        kind: str,
        features: Mapping[str, Feature],
        vocabulary: Vocabulary,
        num_shards: int = 1,
        settings: Mapping | None = None,
        overwrite: bool = False,
    ):
        if not 1 <= num_shards <= MOST_SHARDS:
            raise ValueError(f"num_shards={num_shards} must lie between 1 and {MOST_SHARDS}.")
        check_output_dir(output_dir, overwrite)
        import tensorflow as tf  # late: it takes seconds, and what is wrong with the flags has been said

        self._output_dir = Path(output_dir).resolve()
        self._temporary_dir = self._output_dir.with_name(f"{self._output_dir.name}.tmp-{os.getpid()}")
        self._overwrite = overwrite
        self._kind = kind
        self._features = dict(features)
        self._vocabulary = vocabulary
        self._settings = dict(settings or {})
        try:
            self._temporary_dir.mkdir(parents=True)
        except OSError as error:
            raise ValueError(
                f"cannot make the folder {self._temporary_dir} ({error.strerror}); the records are written "
                "there and then renamed, so the folder around output_dir must be writable."
            ) from None
        self._file_names = [f"{kind}-{i:05d}-of-{num_shards:05d}.tfrecord" for i in range(num_shards)]
        self._files = [tf.io.TFRecordWriter(str(self._temporary_dir / name)) for name in self._file_names]
        self._num_examples = 0

    def __enter__(self) -> "RecordWriter":
        for left in sorted(self._output_dir.parent.glob(f"{self._output_dir.name}.tmp-*")):
            if left != self._temporary_dir:
                logging.warning(
                    "%s is left from a run that was stopped; delete it if none is going on.", left
                )
        return self

    def __exit__(self, *exception):
        self._close_files()
        shutil.rmtree(self._temporary_dir, ignore_errors=True)  # after `finish` there is nothing

    def write(self, batch: Mapping[str, np.ndarray]):
        """Writes a batch of examples.

        Args:
          batch: for each feature an array of shape [batch, *shape of the feature].

        Raises:
          ValueError: naming the feature that is missing, unknown or of another shape.
        """
        if set(batch) != set(self._features):
            raise ValueError(
                f"received the features {sorted(batch)}, expected {sorted(self._features)}; the names are "
                "in kbert/features.py."
            )
        columns = {name: np.asarray(values) for name, values in batch.items()}
        batch_size = len(next(iter(columns.values())))
        for name, feature in self._features.items():
            if columns[name].shape != (batch_size, *feature.shape):
                raise ValueError(
                    f"feature {name!r} has shape {columns[name].shape}, expected "
                    f"{(batch_size, *feature.shape)}: the batch, then the shape of the feature."
                )
        for record in encode_examples(columns, self._features):
            self._files[self._num_examples % len(self._files)].write(record)
            self._num_examples += 1

    def finish(self, statistics: Mapping | None = None) -> manifest.Manifest:
        """Writes manifest and vocabulary, and gives the folder its name.

        Args:
          statistics: counts worth knowing, for the manifest.

        Returns:
          The manifest, as it lies in the folder.

        Raises:
          ValueError: when `output_dir` has been filled in the meantime.
        """
        self._close_files()
        fewest, files_with_one_more = divmod(self._num_examples, len(self._file_names))
        shards = tuple(
            manifest.Shard(name, fewest + (index < files_with_one_more))
            for index, name in enumerate(self._file_names)
        )
        description = manifest.Manifest(
            kind=self._kind,
            features=self._features,
            shards=shards,
            vocabulary=self._vocabulary.describe(),
            settings=self._settings,
            statistics=dict(statistics or {}),
        )
        self._vocabulary.write(self._temporary_dir / manifest.VOCABULARY_FILE_NAME)
        description.write(self._temporary_dir)
        self._rename()
        return description

    def _rename(self):
        check_output_dir(self._output_dir, self._overwrite)
        replaced = self._output_dir.with_name(f"{self._output_dir.name}.old-{os.getpid()}")
        if self._output_dir.exists():
            self._output_dir.rename(replaced)
        self._temporary_dir.rename(self._output_dir)
        shutil.rmtree(replaced, ignore_errors=True)

    def _close_files(self):
        for file in self._files:
            file.close()


def check_output_dir(output_dir: str | Path, overwrite: bool):
    """Raises ValueError unless `output_dir` may be made, or replaced, by a set of records.

    Only a folder of records is ever replaced: a slip in the path must not cost anyone other files.
    """
    path = Path(output_dir).resolve()
    if not path.exists():
        return
    if not path.is_dir():
        raise ValueError(f"output_dir {output_dir} is a file; give the path of a folder to make.")
    if path.is_mount():
        raise ValueError(
            f"output_dir {output_dir} is a mount point, which cannot be renamed; give a folder inside it."
        )
    names = sorted(entry.name for entry in path.iterdir())
    if names and not overwrite:
        raise ValueError(
            f"output_dir {output_dir} exists and is not empty; give another folder, or pass --overwrite to "
            "replace it."
        )
    own = (manifest.FILE_NAME, manifest.VOCABULARY_FILE_NAME)
    foreign = [name for name in names if name not in own and not name.endswith(".tfrecord")]
    if foreign:
        raise ValueError(
            f"output_dir {output_dir} holds {foreign[0]!r}, which is no part of a set of records; "
            "--overwrite replaces only such sets, so delete the folder yourself or give another."
        )


# ------------------------------------------------------------------------------- tf.train.Example
#
# Building tf.train.Example objects takes longer than all the rest of making a record. The features here
# are plain arrays, and their encoding is simple: tag, length, content, with tags from
# tensorflow/core/example/{example,feature}.proto. The bytes are those of
# `tf.train.Example(...).SerializeToString(deterministic=True)`; the tests hold both side by side.

_EXAMPLE_FEATURES = b"\x0a"  # Example.features = 1
_FEATURES_ENTRY = b"\x0a"  # Features.feature = 1, a map
_ENTRY_KEY, _ENTRY_VALUE = b"\x0a", b"\x12"
_FEATURE_FLOAT_LIST, _FEATURE_INT64_LIST = b"\x12", b"\x1a"
_LIST_VALUES = b"\x0a"  # Int64List.value = FloatList.value = 1, packed


def encode_examples(columns: Mapping[str, np.ndarray], features: Mapping[str, Feature]) -> list[bytes]:
    """Serialized `tf.train.Example`s of a batch, as int64 and float lists like those of the original.

    Args:
      columns: for each feature an array of shape [batch, *shape].
      features: name -> `Feature`; its dtype decides between the two kinds of list.
    """
    entries = []  # for each feature the encoded map entry of each example
    for name in sorted(features):
        is_float = features[name].dtype == "float32"
        encode = _packed_floats if is_float else _packed_varints
        list_tag = _FEATURE_FLOAT_LIST if is_float else _FEATURE_INT64_LIST
        key = _ENTRY_KEY + _with_length(name.encode("utf-8"))
        heads = {}  # by the length of the content: there are few lengths and many examples
        column = []
        for content in encode(columns[name].reshape(len(columns[name]), -1)):
            size = len(content)
            if size not in heads:
                heads[size] = _entry_head(key, list_tag, content)
            column.append(heads[size] + content)
        entries.append(column)
    bodies = map(b"".join, zip(*entries, strict=True))
    return [_EXAMPLE_FEATURES + _with_length(body) for body in bodies]


def _entry_head(key, list_tag, content):
    """All that stands before the packed values of one feature."""
    values = _LIST_VALUES + _with_length(content) if content else b""
    value_list = list_tag + _with_length(values)
    entry = key + _ENTRY_VALUE + _with_length(value_list)
    whole = _FEATURES_ENTRY + _with_length(entry)
    return whole[: len(whole) - len(content)]


def _with_length(content):
    return _varint(len(content)) + content


def _varint(number):
    """Seven bits a byte, the lowest first; the high bit says that more follow."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _packed_floats(rows):
    return [row.tobytes() for row in rows.astype("<f4")]


def _packed_varints(rows):
    """The varints of each row of an integer array of shape [batch, size], for the whole batch at once."""
    values = rows.astype(np.int64).view(np.uint64)  # negative numbers take ten bytes, as in protobuf
    most_bytes = max(1, -(-int(values.max(initial=0)).bit_length() // 7))
    groups = values[..., np.newaxis] >> np.arange(0, 7 * most_bytes, 7, dtype=np.uint64)
    present = groups > 0
    present[..., 0] = True
    encoded = (groups & np.uint64(127)).astype(np.uint8)
    encoded[..., :-1] |= present[..., 1:].astype(np.uint8) << 7
    ends = np.cumsum(present.sum(axis=(1, 2))).tolist()
    stream = encoded[present].tobytes()
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]
