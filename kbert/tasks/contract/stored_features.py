"""What a task without an encoder says of the layers that its records hold, see `Task.has_encoder`."""

from kbert.config import EncoderConfig
from kbert.features import Feature
from kbert.tasks.contract.data import DataOfTask
from kbert.tasks.contract.rows import ExampleFeatures, VectorsAt


class StoredFeaturesOfTask(DataOfTask):
    """The methods of a `Task` about data, with those of a task that reads what a frozen encoder gave."""

    def check_encoder(self, encoder: EncoderConfig):
        """Raises ValueError where the settings speak of another encoder than this one."""

    @classmethod
    def complete_settings(cls, values: dict, encoder: EncoderConfig, stored: str) -> dict:
        """The `task_settings` of a config, with what follows from the encoder and from the records.

        Args:
          values: as the config gives them.
          encoder: the encoder whose layers are stored.
          stored: one of `kbert.features.STORED_DTYPES`.

        Raises:
          ValueError: when the config says something else.
        """
        raise NotImplementedError

    def record_features(self, max_seq_length: int) -> dict[str, Feature]:
        """The features that records hold: those of all models that may read them."""
        return self.features(max_seq_length)

    def num_stored_vectors(self, examples: list) -> int:
        """How many vectors of each layer `layer_features` stores."""
        raise NotImplementedError

    def layer_features(self, examples: list, text_inputs, vectors_at: VectorsAt) -> ExampleFeatures:
        """Examples -> rows of features, with outputs of a frozen encoder's layers among them.

        Args:
          examples: the examples.
          text_inputs: as for `examples_to_features`; its `max_seq_length` is that of the rows.
          vectors_at: asks the encoder, see `VectorsAt`.

        Returns:
          Rows. Of a feature with `stored` they hold a list of arrays without padding, see
          `kbert.input_pipelines.records.raw_numbers`.
        """
        raise NotImplementedError
