"""manifest.json describes the TFRecord shards in its folder, so that a reader needs no other information.

The manifest is written last: a folder without one holds no finished set. Standard library only.
"""

import dataclasses
import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbert.features import Feature
from kbert.files.json_file import read_json_object
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

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:  # hashing releases Python's lock
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
        raise ValueError(
            f"{directory} holds no {FILE_NAME}, so it is no finished set of records; make one with "
            "kbert pretraining-data --output_dir=..."
        )
    try:
        values = read_json_object(path)
        version = _format_version(values)
        manifest = _manifest(values) if version == FORMAT_VERSION else None
    except ValueError as error:
        what = str(error).removeprefix(str(path)).strip(" .:")
        raise ValueError(f"{path} is broken ({what}); make the records again.") from None
    if manifest is None:
        raise ValueError(
            f"{path} has format_version={version}, but this kbert reads {FORMAT_VERSION}; make the records "
            "again with it."
        )
    for shard in manifest.shards:
        if not (path.parent / shard.file).is_file():
            raise ValueError(
                f"{path} names the shard {shard.file}, which is not there; copy it back, or make the records "
                "again."
            )
    return manifest


# ------------------------------------------------------------------------------ values from outside


def _format_version(values):
    version = values.get("format_version")
    return _number(version, "format_version")


def _checksum(values):
    """The SHA-256 of all that the manifest says, whatever its white space and the order of its names."""
    content = json.loads(json.dumps(values))  # as it is read back: lists for tuples, texts for keys
    content.pop("checksum", None)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("utf-8")).hexdigest()


def _require_checksum(values):
    """Labels that changed places are valid, too: only a checksum finds what was edited."""
    if values.get("checksum") != _checksum(values):
        raise ValueError("it is not the content that was written, says its checksum; do not edit it")


def _manifest(values):
    missing = {"kind", "features", "shards", "vocabulary", "settings", "statistics"} - set(values)
    if missing:
        raise ValueError(f"it has no {', '.join(sorted(missing))}")
    features = _a(dict, values["features"], "features")
    shards = tuple(map(_shard, _a(list, values["shards"], "shards")))
    for name, times in Counter(shard.file for shard in shards).items():
        if times > 1:
            raise ValueError(f"the shard {_shown(name)} is named twice")
    manifest = Manifest(
        kind=_a(str, values["kind"], "kind"),
        features={name: _feature(name, feature) for name, feature in features.items()},
        shards=shards,
        vocabulary=_vocabulary(_a(dict, values["vocabulary"], "vocabulary")),
        settings=_a(dict, values["settings"], "settings"),
        statistics=_a(dict, values["statistics"], "statistics"),
    )
    _require_checksum(values)
    return manifest


def _feature(name, value):
    if not isinstance(value, dict) or set(value) != {"dtype", "shape"}:
        raise ValueError(f"feature {_shown(name)} is {_shown(value)}, expected its dtype and shape")
    if value["dtype"] not in ("int32", "float32"):
        raise ValueError(
            f"feature {_shown(name)} has dtype {_shown(value['dtype'])}, expected int32 or float32"
        )
    shape = [_number(size, f"a size of feature {_shown(name)}") for size in _a(list, value["shape"], "shape")]
    if math.prod(shape) > _LARGEST_FEATURE:
        raise ValueError(f"feature {_shown(name)} has more than {_LARGEST_FEATURE} values")
    return Feature(value["dtype"], tuple(shape))


def _shard(value):
    known = {entry.name for entry in dataclasses.fields(Shard)}
    if not isinstance(value, dict) or set(value) != known:
        raise ValueError(f"a shard is {_shown(value)}, expected {sorted(known)}")
    shard = Shard(**value)
    if not _is_plain_name(shard.file):
        raise ValueError(f"the shard {_shown(shard.file)} is not a plain file name of this folder")
    _number(shard.num_examples, f"num_examples of {shard.file}")
    _number(shard.num_bytes, f"num_bytes of {shard.file}")
    if not re.fullmatch("[0-9a-f]{64}", _a(str, shard.sha256, "sha256")):
        raise ValueError(f"sha256 of {shard.file} is {_shown(shard.sha256)}, expected 64 hex digits")
    return shard


def _is_plain_name(name):
    """Whether it names a file in the folder itself, on every system."""
    if not isinstance(name, str) or name in ("", ".", "..") or len(name) > _LONGEST_NAME:
        return False
    return name.isprintable() and not set(name) & set("/\\:")


def _vocabulary(values):
    for name, kind in (("size", int), ("do_lower_case", bool | None), ("fingerprint", str)):
        if name not in values:
            raise ValueError(f"its vocabulary has no {name}")
        if kind is int:
            _number(values[name], "the vocabulary's size")
        else:
            _a(kind, values[name], f"the vocabulary's {name}")
    return values


def _number(value, name):
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError(f"{name} is {_shown(value)}, expected a whole number")
    return value


def _a(kind, value, name):
    if not isinstance(value, kind):
        expected = kind.__name__ if isinstance(kind, type) else kind
        raise ValueError(f"{name} is {_shown(value)}, expected {expected}")
    return value


def _shown(value):
    return repr(value)[:200]


def _without_none(entry):
    values = entry._asdict() if isinstance(entry, Feature) else dataclasses.asdict(entry)
    return {name: value for name, value in values.items() if value is not None}
