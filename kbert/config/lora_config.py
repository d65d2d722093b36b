"""Low-rank adaptation: small matrices learn in the place of an encoder."""

import collections
from dataclasses import dataclass
from typing import Annotated

from kbert.bounds import Bounds
from kbert.checks import Rate, Width, check_values, require
from kbert.files.json_values import shown

# The projections of a layer that can have an adapter, in the order in which they are computed.
LORA_TARGETS = (
    "query", "key", "value", "attention_output", "feed_forward_intermediate", "feed_forward_output",
)  # fmt: skip


@dataclass(frozen=True)
class LoraConfig:
    """Adapters beside projections: `x W + (alpha / rank) x A B`, with W frozen and B zero at the start.

    `rank` and `alpha` are those of the formula. A has shape (inputs, rank) and B (rank, outputs). The whole
    encoder is frozen; adapters, pooler and heads are trained. `dropout` drops elements of x before A.
    `targets` are some of LORA_TARGETS. Keras's `fit` trains the encoder too until you freeze it, see
    `BertEncoder`.

    Source: arXiv 2106.09685, section 4.1; query and value alone: section 4.2.
    """

    rank: Width = 8
    alpha: Annotated[float, Bounds(above=0, largest=1e6)] = 16.0
    dropout: Rate = 0.0
    targets: tuple[str, ...] = ("query", "value")

    def __post_init__(self):
        object.__setattr__(self, "targets", tuple(self.targets))
        check_values(self, "lora.")
        require(
            bool(self.targets), f"lora.targets names no projection; choose some of {', '.join(LORA_TARGETS)}."
        )
        for target, number in collections.Counter(self.targets).items():
            require(
                target in LORA_TARGETS and number == 1,
                f"lora.targets holds {shown(target)}, which is not known or given twice; choose some of "
                f"{', '.join(LORA_TARGETS)}.",
            )

    @property
    def scale(self) -> float:
        """What x A B is multiplied by."""
        return self.alpha / self.rank


def is_adapter(name: str) -> bool:
    """Whether a variable of this name belongs to an adapter."""
    return name.endswith(("/lora_a", "/lora_b"))
