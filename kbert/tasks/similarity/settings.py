"""What `[task_settings]` of a config may say for sentence similarity."""

import math
from dataclasses import dataclass

from kbert.config.checks import require
from kbert.config.pooling_config import PoolingConfig


@dataclass(frozen=True)
class EmbeddingSettings:
    """How one vector is made of a text.

    `pooling` is "mean", "cls", "max" or "mean_sqrt_len", `normalize` brings the vectors to length 1. What is
    left out is taken from the checkpoint, where that is a sentence-transformers folder or a run that says it;
    otherwise it is "mean" and true.
    """

    pooling: str | None = None
    normalize: bool | None = None

    def __post_init__(self):
        if self.pooling is not None:
            PoolingConfig(self.pooling)  # raises an error for an unknown mode


@dataclass(frozen=True)
class CosineSettings(EmbeddingSettings):
    """The settings of `CosineSimilarity`.

    `lowest_score` and `highest_score` are the ends of the scores in the files, 0 and 5 in STS-B. They become
    the cosines 0 and 1.
    """

    lowest_score: float = 0.0
    highest_score: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        low, high = self.lowest_score, self.highest_score
        require(
            math.isfinite(low) and math.isfinite(high) and low < high,
            f"lowest_score={low:g} and highest_score={high:g}: expected finite numbers, the lowest first.",
        )


@dataclass(frozen=True)
class RankingSettings(EmbeddingSettings):
    """The settings of `MultipleNegativesRanking`.

    `scale` multiplies the cosines before the softmax; 20 is sentence-transformers' default. `symmetric` adds
    the other direction: which query belongs to each positive.
    """

    scale: float = 20.0
    symmetric: bool = False

    def __post_init__(self):
        super().__post_init__()
        require(
            math.isfinite(self.scale) and self.scale > 0, f"scale={self.scale:g} must be a positive number."
        )
