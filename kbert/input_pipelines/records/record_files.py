"""The shards and the vocabulary of a folder: opened, and compared with the manifest that describes them.

What a damaged shard holds is not repaired: records are made again. TensorFlow, which is loaded to open a
shard, checks every record's CRC, but names neither the file nor the record.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from absl import logging

from kbert.files.file_format import require_downloaded
from kbert.input_pipelines import epochs
from kbert.manifest import Manifest, Shard, digest
from kbert.tokenization.wordpiece_rules import MAX_CHARACTERS_PER_WORD

_MOST_BYTES_AT_START = 1 << 30  # of a set; SHA-256 takes 1.5 s for them, and a slow disk ten
_LENGTH_BYTES, _FRAME_BYTES = 8, 16  # of a record: its length, and that with the checksums of both


def open_shard(path: str | Path):
    """The serialized records of a file in order, as a `tf.data.Dataset`; `.gz` is decompressed.

    Raises:
      ValueError: for a record that is longer than the rest of the file.
    """
    number, is_cut = whole_frames(path)
    if is_cut:
        raise ValueError(f"{path}: record {number} is damaged; make the records again.")
    return _records(path)


def _records(path):
    import tensorflow as tf

    compression = "GZIP" if Path(path).suffix == ".gz" else ""
    return epochs.without_autotune(tf.data.TFRecordDataset(os.fsencode(path), compression))


def whole_frames(path: str | Path) -> tuple[int, bool]:
    """(how many records lie in a file as their lengths say, whether one is cut off); (-1, False) of a `.gz`.

    TensorFlow takes the memory for a record before it reads it: the process ends at a length beyond memory.
    """
    if Path(path).suffix == ".gz":  # unpacked piece by piece
        return -1, False
    number, at, size = 0, 0, Path(path).stat().st_size
    with open(path, "rb", 1 << 16) as file:
        while at < size:
            file.seek(at)
            at += int.from_bytes(file.read(_LENGTH_BYTES), "little") + _FRAME_BYTES
            number += at <= size
    return number, at > size


def require_written_bytes(directory: str | Path, manifest: Manifest):
    """Compares the shards with the manifest: their sizes, and up to a gibibyte in all their digests, too.

    Raises:
      ValueError: naming the first shard that is not what was written, and the record that is damaged.
    """
    with_digests = sum(shard.num_bytes for shard in manifest.shards) <= _MOST_BYTES_AT_START
    for problem in wrong_shards(directory, manifest, with_digests):
        raise ValueError(f"{problem}; make the records again.")


def wrong_shards(directory: str | Path, manifest: Manifest, with_digests: bool = True) -> Iterator[str]:
    """Yields a sentence for each shard that does not have the bytes that were written.

    Raises:
      ValueError: for a pointer of Git LFS, see `require_downloaded`.
    """
    for shard in manifest.shards:
        path = Path(directory) / shard.file
        is_whole = path.stat().st_size == shard.num_bytes
        if not is_whole or (with_digests and (digest(path) != shard.sha256 or whole_frames(path)[1])):
            yield f"{path} does not hold the bytes that were written: {_difference(path, shard)}"


def _difference(path, shard: Shard):
    require_downloaded(path)
    damaged, number = first_damage(path)
    if damaged:
        return f"record {number} is damaged"
    if number != shard.num_examples:
        return f"it holds {number} records, but its manifest says {shard.num_examples}"
    return "its size or its SHA-256 is not that of the manifest"


def first_damage(path: str | Path) -> tuple[bool, int]:
    """(whether a record of a file is damaged or cut off, how many can be read before it)."""
    import tensorflow as tf

    number, (most, is_cut) = 0, whole_frames(path)
    try:
        for _ in _records(path).take(most).as_numpy_iterator():
            number += 1
    except tf.errors.DataLossError:
        return True, number
    return is_cut, number


def require_vocabulary(directory: str | Path, manifest: Manifest, owner, vocabulary: dict):
    """Checks that records were made with a given vocabulary, so that their ids mean the same.

    Args:
      directory, manifest: the records.
      owner: the owner of the vocabulary, for the message: a run directory, a checkpoint or other records.
      vocabulary: its `Vocabulary.describe()`, as manifests and run.json hold it.

    Raises:
      ValueError: when the vocabularies differ; the message has both fingerprints.
    """
    if manifest.vocabulary["fingerprint"] == vocabulary["fingerprint"]:
        limit, records_limit = (
            each.get("max_input_chars_per_word", MAX_CHARACTERS_PER_WORD)
            for each in (vocabulary, manifest.vocabulary)
        )
        if limit != records_limit:
            logging.warning(
                "%s was made with max_input_chars_per_word=%d, %s has %d: words of a length between become "
                "[UNK] in one of them.", directory, records_limit, owner, limit,
            )  # fmt: skip
        return
    tokenizer = f"tokenizer={owner}" if Path(owner).is_dir() else "that checkpoint's folder as tokenizer"
    casing = {True: "lower-casing", False: "cased", None: "not WordPiece"}
    raise ValueError(
        f"{directory} was not made with the vocabulary of {owner}: its fingerprint is "
        f"{manifest.vocabulary['fingerprint']} ({manifest.vocabulary['size']} tokens, "
        f"{casing[manifest.vocabulary['do_lower_case']]}), expected {vocabulary['fingerprint']} "
        f"({vocabulary['size']} tokens, {casing[vocabulary['do_lower_case']]}); make the records again with "
        f"{tokenizer}, as a vocab_file alone does not say all rules."
    )
