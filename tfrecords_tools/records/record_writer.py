"""Features -> TFRecord shards, manifest and vocabulary, in a folder that is either complete or absent.

Any kind of record is written here: pretraining or fine-tuning, as long as its features have fixed shapes.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from kbert import manifest
from kbert.features import Feature
from kbert.files.output_path import check_output_folder
from kbert.files.whole_file import whole_file, whole_folder
from kbert.input_pipelines.without_autotune import without_autotune
from kbert.tokenization.vocabulary import Vocabulary
from tfrecords_tools.records.record_statistics import PAGE_FILE_NAME, STATISTICS_FILE_NAME, RecordStatistics
from tfrecords_tools.records.statistics_page import write_statistics
from tfrecords_tools.records.tfrecord_files import naming_full_disks, open_tfrecord

MOST_SHARDS = 500  # all are open at once, and many systems allow 1,024 open files


class RecordWriter:
    """Writes examples in turn to shards `KIND-00000-of-00008.tfrecord`, beside a manifest and vocab.txt.

    Everything is first written to a temporary folder beside `output_dir` (see `whole_folder`), which `finish`
    renames to `output_dir`. Leaving the `with` block before that deletes it. A killed process leaves only the
    temporary folder, without a manifest: it cannot be mistaken for finished records, and the next writer
    deletes it.

    Args:
      output_dir: the folder to make. It may exist if it is empty.
      kind: the kind of example, for the manifest and the names of the shards.
      features: name -> `Feature`, as in kbert/features.py.
      vocabulary: the `Vocabulary` that the ids belong to.
      num_shards: how many files.
      settings: what the records are made with, by flag name, for the manifest.
      compression: "none" or "gzip"; the shards' names then end in `.tfrecord.gz`.
      shuffle_seed: with a number, examples go to shards at random and every shard is shuffled at the end, one
        in memory at a time. By default examples keep their order and go to the shards in turn.
      overwrite: replace the finished records in `output_dir`, once the new ones are complete.

    Attributes:
      vocab_file: path of the vocabulary, while the records are being written.

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
        compression: str = "none",
        shuffle_seed: int | None = None,
        overwrite: bool = False,
    ):
        if not 1 <= num_shards <= MOST_SHARDS:
            raise ValueError(f"num_shards={num_shards} must lie between 1 and {MOST_SHARDS}.")
        check_output_dir(output_dir, overwrite)
        self._output_dir = Path(output_dir).resolve()
        self._overwrite = overwrite
        self._kind = kind
        self._features = dict(features)
        self._vocabulary = vocabulary
        self._settings = dict(settings or {})
        self._compression = compression
        self._counts = [0] * num_shards
        self._shuffle_seed = shuffle_seed
        self._generator = None if shuffle_seed is None else np.random.default_rng(shuffle_seed)
        self._files = []
        self._whole = whole_folder(self._output_dir, replace=overwrite)
        try:
            self._folder = self._whole.__enter__()
        except OSError as error:
            raise ValueError(
                f"cannot make the folder {self._output_dir} ({error.strerror}); the records are written "
                "beside it and then renamed, so the parent folder of output_dir must be writable."
            ) from None
        self._is_open = True
        try:
            self._open_files(num_shards)
        except BaseException as error:
            self._discard(error)
            raise

    def _open_files(self, num_shards):
        self.vocab_file = self._folder / manifest.VOCABULARY_FILE_NAME
        self._vocabulary.write(self.vocab_file)
        ending = ".tfrecord.gz" if self._compression == "gzip" else ".tfrecord"
        names = [f"{self._kind}-{i:05d}-of-{num_shards:05d}{ending}" for i in range(num_shards)]
        self._paths = [self._folder / name for name in names]
        for path in self._paths:
            self._files.append(open_tfrecord(path, self._compression))

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(self, kind, error, traceback):
        if self._is_open:
            self._discard(error or _NotFinishedError())

    def _discard(self, error):
        """Removes what has been written."""
        self._is_open = False
        with contextlib.suppress(OSError):  # a full disk would raise once more
            self._close_files()
        with contextlib.suppress(_NotFinishedError):
            self._whole.__exit__(type(error), error, error.__traceback__)

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
        self.write_encoded(encode_examples(columns, self._features))

    def write_encoded(self, records: Sequence[bytes]):
        """Writes serialized examples, for example those that a worker process has encoded."""
        if self._generator is None:
            first = sum(self._counts)
            shards = (number % len(self._files) for number in range(first, first + len(records)))
        else:
            shards = self._generator.integers(len(self._files), size=len(records)).tolist()
        with naming_full_disks():
            for record, shard in zip(records, shards, strict=True):
                self._files[shard].write(record)
                self._counts[shard] += 1

    def finish(
        self, statistics: Mapping | None = None, counted: RecordStatistics | None = None
    ) -> manifest.Manifest:
        """Writes the manifest, and renames the folder to `output_dir`.

        Args:
          statistics: counts worth knowing, for the manifest.
          counted: statistics of the records, for statistics.json and its page; None writes neither.

        Returns:
          The manifest, as it was written.

        Raises:
          ValueError: when `output_dir` has been filled in the meantime.
          OSError: when the disk is full.
        """
        self._close_files()
        if self._shuffle_seed is not None:
            for index, path in enumerate(self._paths):
                self._shuffle(path, np.random.default_rng([self._shuffle_seed, index]))
        counts = {path.name: count for path, count in zip(self._paths, self._counts, strict=True)}
        description = manifest.Manifest(
            kind=self._kind,
            features=self._features,
            shards=manifest.describe_shards(self._folder, counts),
            vocabulary=self._vocabulary.describe(),
            settings=self._settings,
            statistics=dict(statistics or {}),
        )
        if counted is not None:
            write_statistics(self._folder, description, counted)
        description.write(self._folder)
        check_output_dir(self._output_dir, self._overwrite)
        self._is_open = False
        self._whole.__exit__(None, None, None)
        return description

    def _shuffle(self, path, generator):
        import tensorflow as tf

        compression = "GZIP" if self._compression == "gzip" else None
        dataset = without_autotune(tf.data.TFRecordDataset(str(path), compression))
        records = list(dataset.as_numpy_iterator())
        with whole_file(path) as aside, naming_full_disks():
            with open_tfrecord(aside, self._compression) as writer:
                for index in generator.permutation(len(records)):
                    writer.write(records[index])

    def _close_files(self):
        with naming_full_disks():
            for file in self._files:
                file.close()


class _NotFinishedError(Exception):
    """Tells `whole_folder` that the folder is not whole."""


def check_output_dir(output_dir: str | Path, overwrite: bool, inputs: Iterable[str | Path] = ()):
    """Raises ValueError unless `output_dir` may be made, or replaced, by a set of records.

    Only a folder of records is ever replaced: a typing error in the path must not delete other files.

    Args:
      output_dir: the folder.
      overwrite: whether records that are there may be replaced.
      inputs: files and folders that the records are made from; they are never replaced or written into.
    """
    check_output_folder(output_dir, inputs)
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
    own = (manifest.FILE_NAME, manifest.VOCABULARY_FILE_NAME, STATISTICS_FILE_NAME, PAGE_FILE_NAME)
    shards = (".tfrecord", ".tfrecord.gz")
    foreign = [name for name in names if name not in own and not name.endswith(shards)]
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
# `tf.train.Example(...).SerializeToString(deterministic=True)`; the tests compare both.

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
        list_tag, contents = _contents(columns[name], features[name].dtype)
        key = _ENTRY_KEY + _with_length(name.encode("utf-8"))
        heads = {}  # by the length of the content: there are few lengths and many examples
        column = []
        for content in contents:
            size = len(content)
            if size not in heads:
                heads[size] = _entry_head(key, list_tag, content)
            column.append(heads[size] + content)
        entries.append(column)
    bodies = map(b"".join, zip(*entries, strict=True))
    return [_EXAMPLE_FEATURES + _with_length(body) for body in bodies]


def _contents(column, dtype):
    """(tag of the kind of list, the values of each example as bytes)."""
    flat = column.reshape(len(column), -1)
    if dtype == "float32":
        return _FEATURE_FLOAT_LIST, _packed_floats(flat)
    return _FEATURE_INT64_LIST, _packed_varints(flat)


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
    if not rows.size:
        return [b""] * len(rows)
    smallest, largest = int(rows.min()), int(rows.max())
    if 0 <= smallest and largest < 128:  # a byte each: masks, segments, labels
        stream, size = rows.astype(np.uint8).tobytes(), rows.shape[1]
        return [stream[start : start + size] for start in range(0, len(stream), size)]
    # Negative numbers take ten bytes, as in protobuf.
    unsigned = np.uint32 if 0 <= smallest and largest < 1 << 32 else np.uint64
    values = rows.astype(np.int64).view(np.uint64).astype(unsigned)
    most_bytes = -(-int(values.max()).bit_length() // 7)
    encoded = np.empty((*values.shape, most_bytes), np.uint8)
    present = np.empty(encoded.shape, bool)
    for place in range(most_bytes):
        rest = values >> unsigned(7 * place)
        present[..., place] = rest > 0
        encoded[..., place] = rest & unsigned(127)
        encoded[..., place] |= (rest > 127).view(np.uint8) << np.uint8(7)
    present[..., 0] = True
    ends = np.cumsum(np.count_nonzero(present.reshape(len(rows), -1), axis=1)).tolist()
    stream = encoded[present].tobytes()
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]
