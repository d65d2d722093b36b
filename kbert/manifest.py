"""manifest.json describes the TFRecord shards in its folder, so that a reader needs no other information.

The manifest is written last: a folder without one holds no finished set. Standard library only.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbert.cores import num_cores
from kbert.features import Feature
from kbert.files.file_format import path_problem
from kbert.files.json_file import read_json_object, require_known_format
from kbert.files.json_values import json_value, shown
from kbert.files.whole_file import write_json

FILE_NAME = "manifest.json"

FORMAT_VERSION = 2

_LONGEST_NAME = 255  # characters, the limit of most file systems
_LARGEST_FEATURE = 1 << 24  # values of one example; TensorFlow allocates them before it reads the record


@dataclass(frozen=True)
class Shard:
    """One TFRecord file: its name inside the folder, number of examples, size in bytes and SHA-256 digest."""

    file: str
    num_examples: int
    num_bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The description of one finished set of records.

    Args:
      kind: the kind of example, for example "pretraining".
      features: name -> `Feature`, as in kbert/features.py.
      shards: the files in order.
      vocabulary: its `describe()`: kind, size, do_lower_case, special_tokens, fingerprint, and what of its
        `WordPieceRules` google-research/bert does not have.
      settings: the flags that the records were made with, by name.
      statistics: counts such as documents, tokens and masked pieces.
    """

    kind: str
    features: dict[str, Feature]
    shards: tuple[Shard, ...]
    vocabulary: dict
    settings: dict = field(default_factory=dict)
    statistics: dict = field(default_factory=dict)

    @property
    def num_examples(self) -> int:
        return sum(shard.num_examples for shard in self.shards)

    @property
    def fingerprint(self) -> str:
        """A hash of the records' bytes, features and vocabulary. It does not depend on path or time."""
        digests = [shard.sha256 for shard in self.shards]
        features = sorted((name, *_without_none(feature).values()) for name, feature in self.features.items())
        content = json.dumps([digests, features, self.vocabulary["fingerprint"]])
        return hashlib.sha256(content.encode("utf-8")).hexdigest()

    def write(self, directory: str | Path):
        """Writes `directory/manifest.json`, in the newest format."""
        numbers = {"format_version": FORMAT_VERSION, "num_examples": self.num_examples}
        values: dict[str, Any] = numbers | dataclasses.asdict(self)
        values["features"] = {name: _without_none(feature) for name, feature in self.features.items()}
        values["checksum"] = _checksum(values)
        write_json(values, Path(directory) / FILE_NAME)


def describe_shards(directory: str | Path, num_examples: Mapping[str, int]) -> tuple[Shard, ...]:
    """The shards of a folder, with the sizes and digests of their files.

    Args:
      directory: where the files lie.
      num_examples: file name -> how many examples it holds, in the order of the shards.
    """

    def describe(item):
        name, number = item
        path = Path(directory) / name
        return Shard(name, number, path.stat().st_size, digest(path))

    with ThreadPoolExecutor(min(8, num_cores())) as pool:  # hashing releases Python's lock
        return tuple(pool.map(describe, num_examples.items()))


def digest(path: str | Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_manifest(directory: str | Path) -> Manifest:
    """Reads the manifest of a folder of records.

    Raises:
      ValueError: when there is no manifest (the tool that writes it did not finish), when it is broken, was
        edited or has another format, or when a shard that it names is missing.
    """
    path = Path(directory) / FILE_NAME
    if not path.is_file():
        problem = f"holds no {FILE_NAME}, so it is no finished set of records"
        if not path.parent.is_dir():
            problem = "is a file" if path.parent.exists() else path_problem(directory)
        raise ValueError(
            f"{directory} {problem}; expected a folder of kbert pretraining-data or kbert finetuning-data. "
            "Records of other programs have to be made again, of their texts."
        )
    try:
        values = read_json_object(path)
    except ValueError as error:
        raise ValueError(f"{error} Make the records again.") from None
    require_known_format(values, FORMAT_VERSION, path)
    if values["format_version"] < FORMAT_VERSION:
        raise ValueError(
            f"{path} has format_version={values['format_version']}, but this kbert reads {FORMAT_VERSION}; "
            "make the records again."
        )
    try:
        if values.get("checksum") != _checksum(values):  # labels that changed places are valid, too
            raise ValueError("it is not the content that was written, says its checksum; do not edit it")
        manifest = _manifest(values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is broken ({error}); make the records again.") from None
    for shard in manifest.shards:
        if not (path.parent / shard.file).is_file():
            raise ValueError(
                f"{path} names the shard {shard.file}, which is not there; copy it back, or make the records "
                "again."
            )
    return manifest


# ------------------------------------------------------------------------------ values from outside


def _checksum(values):
    """The SHA-256 of all that the manifest says, whatever its white space and the order of its names."""
    content = json.loads(json.dumps(values))  # as it is read back: lists for tuples, texts for keys
    content.pop("checksum", None)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("utf-8")).hexdigest()


def _manifest(values):
    """The description that `values` are. A checksum says nothing of who wrote it: what would reach beyond the
    folder, or into memory, is refused."""
    shards = tuple(Shard(**shard) for shard in values["shards"])
    for shard in shards:
        if not _is_plain_name(shard.file):
            raise ValueError(f"the shard {shown(shard.file)} is not a plain file name of this folder")
        _require_sizes(shard.file, (shard.num_examples, shard.num_bytes))
    features = {name: Feature(**feature) for name, feature in values["features"].items()}
    for name, (dtype, shape) in features.items():
        if dtype not in ("int32", "float32"):
            raise ValueError(f"feature {shown(name)} has dtype {shown(dtype)}, expected int32 or float32")
        _require_sizes(f"feature {shown(name)}", shape)
        if math.prod(shape) > _LARGEST_FEATURE:
            raise ValueError(f"feature {shown(name)} has more than {_LARGEST_FEATURE} values")
        features[name] = Feature(dtype, tuple(shape))
    for name in ("vocabulary", "settings", "statistics"):
        json_value(values, name, dict, "it")
    size, *_ = (values["vocabulary"][name] for name in ("size", "fingerprint", "do_lower_case"))
    _require_sizes("the vocabulary", [size])
    names = {field.name for field in dataclasses.fields(Manifest)} - {"features", "shards"}
    return Manifest(features=features, shards=shards, **{name: values[name] for name in names})


def _require_sizes(what, sizes):
    if any(type(size) is not int or not 0 <= size < 1 << 63 for size in sizes):
        raise ValueError(f"{what} has the sizes {shown(sizes)}, expected whole numbers")


def _is_plain_name(name):
    """Whether it names a file in the folder itself, on every system."""
    if not isinstance(name, str) or name in ("", ".", "..") or len(name) > _LONGEST_NAME:
        return False
    return name.isprintable() and not set(name) & set("/\\:")


def _without_none(entry):
    values = entry._asdict() if isinstance(entry, Feature) else dataclasses.asdict(entry)
    return {name: value for name, value in values.items() if value is not None}
