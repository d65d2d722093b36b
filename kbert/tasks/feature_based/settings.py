"""Which layers of the frozen encoder a tagger reads, and the settings of its records and of its model."""

from dataclasses import dataclass

from kbert.config.checks import check_limits, require
from kbert.features import STORED_DTYPES
from kbert.files.json_values import shown
from kbert.tasks.token_classification.token_classification import TokenClassificationSettings

CONCATENATION, WEIGHTED_SUM, ONE_LAYER = "concatenation", "weighted sum", "one layer"
# Name -> how the layers come together; the rows of the BERT paper's table 7, in its order.
READS = {
    "embeddings": ONE_LAYER,
    "second_to_last": ONE_LAYER,
    "last": ONE_LAYER,
    "weighted_sum_last_four": WEIGHTED_SUM,
    "concat_last_four": CONCATENATION,
    "weighted_sum_all": WEIGHTED_SUM,
}
_SMALLEST_DEPTH = 4  # with fewer layers "the last four" would be something else


def layers_of(reads: str, num_hidden_layers: int) -> tuple[int, ...]:
    """The layers that a row of table 7 reads, the lowest first; 0 is the output of the embeddings.

    "All" are the layers without the embeddings, as in the paper ("all 12 layers").

    Example:
      >>> from kbert.tasks.feature_based.settings import layers_of
      >>> layers_of("second_to_last", 12), layers_of("concat_last_four", 12)
      ((11,), (9, 10, 11, 12))
    """
    last = num_hidden_layers
    return {
        "embeddings": (0,),
        "second_to_last": (last - 1,),
        "last": (last,),
        "weighted_sum_last_four": tuple(range(last - 3, last + 1)),
        "concat_last_four": tuple(range(last - 3, last + 1)),
        "weighted_sum_all": tuple(range(1, last + 1)),
    }[reads]


@dataclass(frozen=True)
class FeatureBasedSettings(TokenClassificationSettings):
    """`task_settings` of feature-based tagging, with those of token classification.

    `reads` is what the model reads of the encoder's layers, one of READS. `lstm_size` is the width of a
    BiLSTM, both directions together.

    The others say how records were made: `window_length`, the pieces of an encoder's window (the config's
    `max_seq_length` is the words of a row); `num_hidden_layers` and `hidden_size` of the encoder; `stored`,
    the dtype of the numbers on disk, see `kbert.input_pipelines.records.raw_numbers`.
    """

    reads: str = "concat_last_four"
    lstm_size: int = 768
    window_length: int = 512
    num_hidden_layers: int = 12
    hidden_size: int = 768
    stored: str = "float32"

    def __post_init__(self):
        super().__post_init__()
        check_limits(self, "task_settings.")
        require(
            self.reads in READS,
            f"task_settings.reads={shown(self.reads)} is not known; choose one of {', '.join(READS)}.",
        )
        require(
            self.stored in STORED_DTYPES,
            f"task_settings.stored={shown(self.stored)} is not known; choose one of "
            f"{', '.join(STORED_DTYPES)}.",
        )
        require(
            self.lstm_size > 0 and self.lstm_size % 2 == 0,
            f"task_settings.lstm_size={shown(self.lstm_size)} is the width of two directions together: give "
            "a positive even number.",
        )
        require(
            self.window_length >= 4,
            f"task_settings.window_length={shown(self.window_length)} must be at least 4.",
        )
        require(
            self.num_hidden_layers >= _SMALLEST_DEPTH and self.hidden_size > 0,
            f"task_settings.num_hidden_layers={shown(self.num_hidden_layers)}, hidden_size="
            f"{shown(self.hidden_size)}: expected an encoder of at least {_SMALLEST_DEPTH} layers.",
        )

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that the model reads; 0 is the output of the embeddings."""
        return layers_of(self.reads, self.num_hidden_layers)

    @property
    def how(self) -> str:
        """How these layers come together."""
        return READS[self.reads]
