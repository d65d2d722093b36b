"""The base class for folders of records of any kind. Opening one does not load TensorFlow."""

from kbert.features import Feature
from kbert.input_pipelines.records.record_vocabulary import require_vocabulary
from kbert.input_pipelines.records.shards import require_written_bytes
from kbert.manifest import read_manifest


class RecordFolder:
    """A folder with a complete set of records.

    Args:
      directory: the folder.

    Attributes:
      directory, manifest: as given and read.

    Raises:
      ValueError: when the folder holds no complete set of records.
    """

    # For `Task.score`: records hold features, but not the examples that they were made from.
    evaluated_examples = None

    def __init__(self, directory):
        self.directory = directory
        self.manifest = read_manifest(directory)

    def require_features(self, expected: dict[str, Feature]):
        """Raises ValueError unless the records have these features, with these dtypes and shapes."""
        for name, feature in expected.items():
            if self.manifest.features.get(name) != feature:
                raise ValueError(
                    f"{self.directory} has {name} as {self.manifest.features.get(name)}, expected {feature}; "
                    "make the records again."
                )

    @property
    def length(self) -> int:
        """The length of a row in tokens.

        Raises:
          ValueError: when the manifest does not define it.
        """
        feature = self.manifest.features.get("input_ids")
        if feature is None or not feature.shape or not feature.shape[-1]:
            raise ValueError(
                f"{self.directory} has input_ids as {feature}, expected rows of a fixed length; make the "
                "records again."
            )
        return feature.shape[-1]

    @property
    def num_examples(self) -> int:
        return self.manifest.num_examples

    def check(self):
        """Raises ValueError for a shard that is not what was written, see `require_written_bytes`."""
        require_written_bytes(self.directory, self.manifest)

    def require_vocabulary(self, owner, vocabulary: dict):
        """Raises ValueError when the records were made with another vocabulary than that of `owner`."""
        require_vocabulary(self.directory, self.manifest, owner, vocabulary)

    def naming_damaged_records(self):
        """A context in which an error about a damaged file becomes a message with file and record."""
        from kbert.input_pipelines.records import record_reader

        return record_reader.naming_damaged_records((self.directory, self.manifest))

    def training_batches(self, batch_size: int, seed: int, start_example: int, **settings):
        """Endless shuffled batches; see record_reader.training_batches."""
        from kbert.input_pipelines.records import record_reader

        return record_reader.training_batches(
            self.directory,
            self.manifest,
            batch_size,
            seed,
            start_example,
            **settings,
        )

    def evaluation_batches(self, batch_size: int, **settings):
        """Every example once, in order, with `example_weights`; see record_reader.evaluation_batches."""
        from kbert.input_pipelines.records import record_reader

        return record_reader.evaluation_batches(self.directory, self.manifest, batch_size, **settings)
