"""A folder of records while it is made, and its TFRecord shards: the folder is complete or absent.

Any kind of record is written here: pretraining or fine-tuning, as long as its features have fixed shapes.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from kbert import manifest
from kbert.files.output_path import check_output_folder, other_files, require_free_folder
from kbert.files.whole_file import whole_file, whole_folder
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES
from tfrecords_tools.records.record_statistics import PAGE_FILE_NAME, STATISTICS_FILE_NAME
from tfrecords_tools.records.tfrecord_files import framed, open_records, shard_names, split_records

MOST_SHARDS = 500  # all are open at once, and many systems allow 1,024 open files


@contextlib.contextmanager
def record_folder(output_dir: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder beside `output_dir`, which is renamed to it when the block ends without an error.

    A killed process leaves only the temporary folder, without a manifest: it cannot be mistaken for finished
    records, and the next one deletes it.

    Args:
      output_dir: the folder to make. It may exist if it is empty.
      overwrite: replace the finished records in `output_dir`.

    Raises:
      ValueError: when `output_dir` cannot be made or may not be replaced, also if that turns out at the end.
      OSError: when the disk is full.
    """
    check_output_dir(output_dir, overwrite)
    path = Path(output_dir).resolve()
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(whole_folder(path, replace=overwrite))
        except OSError as error:
            raise ValueError(
                f"cannot make the folder {path} ({error.strerror}); the records are written beside it and "
                "then renamed, so the parent folder of output_dir must be writable."
            ) from None
        yield folder
        check_output_dir(output_dir, overwrite)


class ShardWriter:
    """Writes serialized examples in turn to the shards `KIND-00000-of-00008.tfrecord` of a folder.

    Args:
      folder: an existing folder.
      kind: the kind of example, for the names of the shards.
      num_shards: how many files.
      compression: "none" or "gzip"; the shards' names then end in `.tfrecord.gz`.
      shuffle_seed: with a number, examples go to shards at random and every shard is shuffled at the end, one
        in memory at a time. With None examples keep their order and go to the shards in turn.

    Attributes:
      num_examples: name of a shard -> how many examples it holds.

    Examples:
      with ShardWriter(folder, "pretraining", 8, "none", None) as shards:
          for batch in batches:
              shards.write(encode_examples(batch, features))
    """

    def __init__(self, folder: Path, kind: str, num_shards: int, compression, shuffle_seed):
        if not 1 <= num_shards <= MOST_SHARDS:
            raise ValueError(f"num_shards={num_shards} must lie between 1 and {MOST_SHARDS}.")
        names = shard_names(kind, num_shards, compression)
        self.num_examples = dict.fromkeys(names, 0)
        self._paths, self._compression = [folder / name for name in names], compression
        self._shuffle_seed = shuffle_seed
        self._generator = None if shuffle_seed is None else np.random.default_rng(shuffle_seed)

    def __enter__(self) -> "ShardWriter":
        self._stack = contextlib.ExitStack()
        self._files = [
            self._stack.enter_context(open_records(path, self._compression)) for path in self._paths
        ]
        return self

    def __exit__(self, kind, error, traceback):
        # After an error, such as a full disk, closing would raise it once more.
        with contextlib.suppress(OSError) if error else contextlib.nullcontext():
            self._stack.close()
        if error is None and self._shuffle_seed is not None:
            for index, path in enumerate(self._paths):
                self._shuffle(path, np.random.default_rng([self._shuffle_seed, index]))

    def write(self, records: Sequence[bytes]):
        """Writes serialized examples. Raises OSError when the disk is full."""
        if self._generator is None:
            first = sum(self.num_examples.values())
            shards = (number % len(self._files) for number in range(first, first + len(records)))
        else:
            shards = self._generator.integers(len(self._files), size=len(records)).tolist()
        for record, shard in zip(framed(records), shards, strict=True):
            self._files[shard].write(record)
            self.num_examples[self._paths[shard].name] += 1

    def _shuffle(self, path, generator):
        records = split_records(path, self._compression)
        with whole_file(path) as aside, open_records(aside, self._compression) as file:
            for index in generator.permutation(len(records)):
                file.write(records[index])


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
    require_free_folder(path, overwrite, _other_files, "a set of records")


def _other_files(folder):
    """The files that are no part of a set of records; without a manifest there is none."""
    own = (manifest.FILE_NAME, *VOCABULARY_FILES, STATISTICS_FILE_NAME, PAGE_FILE_NAME)
    is_whole = (folder / manifest.FILE_NAME).is_file()
    return other_files(folder, (*own, "*.tfrecord", "*.tfrecord.gz") if is_whole else ())
