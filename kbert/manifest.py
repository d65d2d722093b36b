"""manifest.json: what lies beside a set of TFRecord shards, so that a reader needs nothing else.

The manifest is written last: a folder without one holds no finished set. Standard library only.
"""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path

from kbert.features import Feature
from kbert.files.whole_file import write_json

FILE_NAME = "manifest.json"
VOCABULARY_FILE_NAME = "vocab.txt"  # copied beside the shards: ids mean nothing without it


@dataclass(frozen=True)
class Shard:
    """One TFRecord file, by its name inside the folder, and how many examples it holds."""

    file: str
    num_examples: int


@dataclass(frozen=True)
class Manifest:
    """The description of one finished set of records.

    Args:
      kind: the kind of example, for example "pretraining".
      features: name -> `Feature`, as in kbert/features.py.
      shards: the files in order.
      vocabulary: `Vocabulary.describe()`: size, do_lower_case, fingerprint.
      settings: what the records were made with, by flag name.
      statistics: counts worth knowing (documents, tokens, masked pieces ...).
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

    def write(self, directory: str | Path):
        """Writes `directory/manifest.json`."""
        values = {"num_examples": self.num_examples} | dataclasses.asdict(self)
        values["features"] = {name: feature._asdict() for name, feature in self.features.items()}
        write_json(values, Path(directory) / FILE_NAME)


def read_manifest(directory: str | Path) -> Manifest:
    """Reads the manifest of a folder of records.

    Raises:
      ValueError: when there is none (the tool that writes it did not finish), when it is broken, or
        when a shard it names is not there.
    """
    path = Path(directory) / FILE_NAME
    if not path.is_file():
        raise ValueError(
            f"{directory} holds no {FILE_NAME}, so no finished set of records; make one with "
            "python -m tfrecords_tools.create_pretraining_data --output_dir=..."
        )
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        manifest = Manifest(
            kind=values["kind"],
            features={
                name: Feature(feature["dtype"], tuple(feature["shape"]))
                for name, feature in values["features"].items()
            },
            shards=tuple(Shard(**shard) for shard in values["shards"]),
            vocabulary=values["vocabulary"],
            settings=values["settings"],
            statistics=values["statistics"],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is broken ({error!r}); make the records again.") from None
    for shard in manifest.shards:
        if not (path.parent / shard.file).is_file():
            raise ValueError(f"{path} names the shard {shard.file}, which is not there.")
    return manifest
