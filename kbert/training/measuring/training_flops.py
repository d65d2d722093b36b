"""Counts the floating-point operations of a training step: its matrix products, from the model's shape.

Nothing here imports TensorFlow.
"""

from dataclasses import dataclass

from kbert.config import EncoderConfig, FrozenConfig, LoraConfig
from kbert.heads.parts import LAYER_OUTPUTS

_NOTHING_FROZEN = FrozenConfig()


@dataclass(frozen=True)
class Heads:
    """The heads that a task puts on top of the encoder, with what arithmetic and memory depend on.

    Args:
      masked_lm: whether there is a masked-LM head, which works only on the masked positions.
      pooled_labels: number of logits for each sequence, from the pooled output; 0 means no pooler.
      token_labels: number of logits for each token.
      without_encoder: whether the model reads stored features, and there is no encoder.
      products_per_token: multiply-adds, forward and backward, that the parts count themselves.
    """

    masked_lm: bool = False
    pooled_labels: int = 0
    token_labels: int = 0
    without_encoder: bool = False
    products_per_token: int = 0

    @classmethod
    def of_parts(cls, parts) -> "Heads":
        """The heads of a task's `Part`s. A pooler that no head reads is not counted."""

        def outputs(reads):
            return sum(part.num_outputs for part in parts if part.reads == reads)

        return cls(
            masked_lm=any(part.reads == "masked_positions" for part in parts),
            pooled_labels=outputs("pooled_output"),
            token_labels=outputs("sequence_output"),
            without_encoder=any(part.reads == LAYER_OUTPUTS for part in parts),
            products_per_token=sum(part.products_per_token for part in parts),
        )


@dataclass(frozen=True)
class StepWork:
    """The amount of data in one or several steps; except in `positions`, padding does not count.

    Args:
      examples: examples of the batch.
      sequences: rows of tokens; more than `examples` if an example has several (multiple choice).
      tokens: tokens without padding.
      token_pairs: sum over sequences of the squared number of tokens: the pairs that attention works on.
      predictions: masked positions that the loss counts.
      positions: all positions of the batch, including padding. No arithmetic is counted for padding.
    """

    examples: float
    sequences: float
    tokens: float
    token_pairs: float
    predictions: float
    positions: float

    def __add__(self, other):
        return StepWork(*(a + b for a, b in zip(self.numbers(), other.numbers(), strict=True)))

    def numbers(self) -> tuple:
        """The fields in order, as `StepWork(*numbers)` takes them."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    @classmethod
    def of_batch(cls, batch_size: int, seq_length: int, predictions: int = 0) -> "StepWork":
        """The work of a batch without padding; `predictions` is the number for one sequence."""
        tokens = batch_size * seq_length
        return cls(batch_size, batch_size, tokens, tokens * seq_length, batch_size * predictions, tokens)


def training_flops(
    config: EncoderConfig,
    work: StepWork,
    heads: Heads,
    frozen: FrozenConfig = _NOTHING_FROZEN,
    lora: LoraConfig | None = None,
) -> float:
    """Floating-point operations of the matrix products of forward and backward pass.

    A multiply-add counts as two operations. For L layers of width H and inner width I, a vocabulary of V
    pieces and K labels, the forward pass needs

      2 L (4 H^2 + 2 H I)  for each token: query, key, value and output; the two feed-forward products;
      4 L H                for each pair of tokens of a sequence: attention scores, and their sum of values;
      2 (H^2 + H V)        for each masked position: transform, and product with the tied token table;
      2 (H^2 + H K)        for each sequence: pooler, and labels from the pooled output;
      2 H K                for each token, if the task labels every token.

    The backward pass needs twice as much: for every product, one product for the gradient of each factor.
    What is frozen needs no gradient of its weights, and what has only frozen weights below it needs none of
    its input. With adapters (`lora`) all layers are frozen, and each adapter of rank r adds its two products,
    r (inputs + outputs) for each token, and their gradients.
    Only real tokens count, and every product counts once: computing padding, or activations a second time
    (recomputation), costs time but is not useful work. These are the model FLOPs of "model FLOPs
    utilization" (arXiv 2204.02311, appendix B, which gives 6 N + 12 L H Q T for each token of a decoder).
    A model without an encoder needs 2 `products_per_token` for each token.
    Lookups, norms, softmax, GELU, dropout and the optimizer are not counted.

    Example:
      >>> from kbert.config import EncoderConfig
      >>> work = StepWork.of_batch(batch_size=256, seq_length=128, predictions=20)
      >>> flops = training_flops(EncoderConfig(), work, Heads(masked_lm=True, pooled_labels=2))
      >>> f"{flops / 1e12:.2f} TFLOP a step of BERT-base"
      '17.90 TFLOP a step of BERT-base'
    """
    if heads.without_encoder:
        return 2 * work.tokens * heads.products_per_token
    layers = range(config.num_hidden_layers)
    if lora is None:
        products = sum(_layer_products(config, work, frozen, layer) for layer in layers)
    else:
        products = sum(_adapted_products(config, work, lora, layer == 0) for layer in layers)
    return 2 * (products + _head_products(config, work, heads, frozen))


def _adapted_products(config, work, lora, is_lowest):
    """Multiply-adds of a frozen layer with adapters; below the lowest one there is no backward pass."""
    hidden, inner, tokens = config.hidden_size, config.intermediate_size, work.tokens
    sizes = lora.sizes(hidden, inner)
    stages = (
        (tokens * 3 * hidden**2, ("query", "key", "value"), 2),
        (2 * work.token_pairs * hidden, (), 3),
        (tokens * hidden**2, ("attention_output",), 2),
        (tokens * hidden * inner, ("feed_forward_intermediate",), 2),
        (tokens * inner * hidden, ("feed_forward_output",), 2),
    )
    products, has_gradient = 0.0, not is_lowest
    for of_stage, targets, with_gradient in stages:
        products += of_stage * (with_gradient if has_gradient else 1)
        adapted = [sizes[target] for target in targets if target in sizes]
        for inputs, outputs in adapted:
            products += tokens * lora.rank * ((2 + has_gradient) * inputs + 3 * outputs)
        has_gradient = has_gradient or bool(adapted)
    return products


def _layer_products(config, work, frozen, layer):
    """Multiply-adds of a layer, forward and backward."""
    hidden, inner = config.hidden_size, config.intermediate_size
    weights = work.tokens * (4 * hidden**2 + 2 * hidden * inner)
    attention = 2 * work.token_pairs * hidden
    if layer < frozen.lowest_trained():
        return weights + attention
    products = 3 * (weights + attention)
    if layer < frozen.layers:  # gradients pass through
        products -= weights
    if layer == frozen.lowest_trained():  # the input of query, key and value has no use for a gradient
        products -= 3 * work.tokens * hidden**2
    return products


def _head_products(config, work, heads, frozen):
    """Multiply-adds of the pooler and the heads, forward and backward."""
    hidden, products = config.hidden_size, 0.0
    on_frozen = frozen.lowest_trained() == config.num_hidden_layers
    if heads.masked_lm:
        table = hidden * config.vocab_size
        products += work.predictions * (3 * hidden**2 + 3 * table)
        products -= work.predictions * (on_frozen * hidden**2 + frozen.embeddings * table)
    if heads.pooled_labels:
        products += work.sequences * (3 * hidden**2 + 3 * hidden * heads.pooled_labels)
        products -= work.sequences * on_frozen * hidden**2
    return products + work.tokens * hidden * heads.token_labels * (2 if on_frozen else 3)
