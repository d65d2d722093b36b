"""The AdamW that all contestants train with."""

from kbert.config import OptimizerConfig

_NAMES = ("learning_rate", "weight_decay", "beta_1", "beta_2", "epsilon", "global_clipnorm")


def adamw(learning_rate: float) -> dict:
    """The numbers of kbert's AdamW, for every system."""
    config = OptimizerConfig(name="adamw", learning_rate=learning_rate)
    return {name: getattr(config, name) for name in _NAMES}
