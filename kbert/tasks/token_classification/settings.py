"""The settings of token classification, and which of the encoder's layers its head reads."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kbert.bounds import Bounds
from kbert.checks import require
from kbert.config import EncoderConfig
from kbert.files.json_values import shown
from kbert.heads.parts import Part
from kbert.tasks.label_losses import LabelLossSettings

Head = Literal["linear", "bilstm"]
LINEAR, BILSTM = get_args(Head)
TAGGER, MIX = "bilstm_tagger", "scalar_mix"
_WIDEST = 65_536
# Name -> the layers, counted from the last, in the order of the BERT paper's table 7; of all, their number is
# the encoder's.
LAYERS: dict[str, tuple[int, ...]] = {
    "embeddings": (0,),
    "second_to_last": (-2,),
    "last": (-1,),
    "weighted_last4": (-4, -3, -2, -1),
    "last4": (-4, -3, -2, -1),
    "weighted_all": (),
}


@dataclass(frozen=True)
class TokenClassificationSettings(LabelLossSettings):
    """`task_settings` of token classification, with those of `LabelLossSettings`.

    `document_context` fills each window with the sentences around its own, of the same document.
    `doc_stride` is how many tokens further each window of a long text begins; by default half of what a
    window holds.

    `head` is "linear", or "bilstm": two BiLSTMs of `lstm_size`, both directions together, over the tokens of
    a window, and a dense layer. `layers` is what a BiLSTM reads: one of LAYERS. "last4" are side by side;
    "weighted_last4" and "weighted_all" (without the embeddings) are added up with learned weights.

    Reference: arXiv 1810.04805, section 5.3 and table 7.
    """

    document_context: bool = False
    doc_stride: Annotated[int, Bounds(above=0)] | None = None
    head: Head = LINEAR
    layers: str = "last"
    lstm_size: int = 768

    def __post_init__(self):
        super().__post_init__()
        require(
            self.layers in LAYERS,
            f"task_settings.layers={shown(self.layers)} is not known; choose one of {', '.join(LAYERS)}.",
        )
        require(
            self.head == BILSTM or self.layers == "last",
            f"task_settings.layers={shown(self.layers)} is for a BiLSTM, and the linear head reads the last: "
            f'set head = "{BILSTM}", or leave layers out.',
        )
        require(
            self.head == BILSTM or self.lstm_size == TokenClassificationSettings.lstm_size,
            f"task_settings.lstm_size={shown(self.lstm_size)} is for a BiLSTM: set head = "
            f'"{BILSTM}", or leave lstm_size out.',
        )
        require(
            0 < self.lstm_size <= _WIDEST and self.lstm_size % 2 == 0,
            f"task_settings.lstm_size={shown(self.lstm_size)} is the width of two directions together: give "
            f"an even number from 2 to {_WIDEST}.",
        )

    @property
    def mixes(self) -> bool:
        """Whether the layers are added up with learned weights."""
        return self.layers.startswith("weighted_")

    def layer_numbers(self, encoder: EncoderConfig) -> tuple[int, ...]:
        """The layers that the head reads, the lowest first; 0 is the output of the embeddings.

        Raises:
          ValueError: for an encoder with fewer layers.
        """
        number = encoder.num_hidden_layers
        least = len(LAYERS[self.layers]) or 2
        require(
            number >= least,
            f"task_settings.layers={shown(self.layers)} needs an encoder of {least} or more layers, but this "
            f'has num_hidden_layers={number}; choose for example "last".',
        )
        layers = LAYERS[self.layers] or range(1, number + 1)
        return tuple(layer + number + 1 if layer < 0 else layer for layer in layers)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a BiLSTM on these layers; none with a linear head."""
        if self.head == LINEAR:
            return ()
        tagger = Part(TAGGER, "hidden_states", has_labels=True)
        return (Part(MIX, "hidden_states"), tagger) if self.mixes else (tagger,)
