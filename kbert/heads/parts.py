"""The pooler and the heads of a task's model, by name. Standard library only."""

from dataclasses import dataclass

from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig
from kbert.config.token_vectors_config import TOKEN_VECTORS_LAYER


@dataclass(frozen=True)
class Part:
    """The pooler, or a head.

    Args:
      name: the name of its layer; the names of its variables begin with it.
      reads: "pooled_output" (one vector per sequence), "sequence_output" (one per token), "hidden_states"
        (one per token and layer) or "masked_positions" (one per masked token).
      has_labels: whether each output stands for a label of the task: then the last axis of its layer `dense`
        is that of the labels, and a trained head is right only for the same labels.
    """

    name: str
    reads: str
    has_labels: bool = False


POOLER = Part("pooler", "sequence_output")
MASKED_LM = Part("masked_lm", "masked_positions")
# The parts that make vectors, not logits.
NO_HEADS = {POOLER.name, POOLING_LAYER, TOKEN_VECTORS_LAYER}


def pooled_head(name: str, has_labels: bool = False) -> tuple[Part, ...]:
    """The pooler, and a head on top of it."""
    return POOLER, Part(name, "pooled_output", has_labels)


def vector_parts(pooling: PoolingConfig | None) -> tuple[Part, ...]:
    """The dense layers behind the pooling, if there are any."""
    return (Part(POOLING_LAYER, "sequence_output"),) if pooling and pooling.dense else ()


def token_head(name: str, has_labels: bool = False) -> tuple[Part, ...]:
    """A head with logits for each token."""
    return (Part(name, "sequence_output", has_labels),)
