"""How one vector is made of the vectors of a text's tokens."""

from dataclasses import dataclass

from kbert.config.checks import require
from kbert.files.json_values import shown

POOLINGS = ("cls", "mean", "max", "mean_sqrt_len")


@dataclass(frozen=True)
class PoolingConfig:
    """How one vector is made of the vectors of a text's tokens, see `kbert.SequencePooling`.

    `mode` is "cls", "mean", "max" or "mean_sqrt_len"; special tokens count as sentence-transformers counts
    them. `normalize` says whether the vector is brought to length 1.
    """

    mode: str = "mean"
    normalize: bool = True

    def __post_init__(self):
        require(
            self.mode in POOLINGS,
            f"pooling={shown(self.mode)} is not known; choose one of {', '.join(POOLINGS)}.",
        )
