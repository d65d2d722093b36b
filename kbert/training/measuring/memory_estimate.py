"""Estimates how much memory a training needs, from the shape of the model and of its batches.

Nothing here imports TensorFlow. docs/watching.md explains the formulas and compares them with measurements.
"""

from dataclasses import dataclass, replace

from kbert.config import EncoderConfig, FrozenConfig, LoraConfig
from kbert.training.measuring.training_flops import Heads

# What a block keeps for its backward pass, in vectors of `hidden_size` for each token, in the compute dtype:
# its input; query, key and value; the context before the output projection; the two normalized sums, which
# kbert/kernels/residual_norm.py keeps instead of its inputs; the output of the first of these two, which is
# the input of the feed-forward part.
_BLOCK_HIDDEN_VECTORS = 1 + 3 + 1 + 2 + 1
# The same in vectors of `intermediate_size`: the product before the activation, which
# kbert/kernels/bias_activation.py keeps, and the output of the activation.
_BLOCK_INTERMEDIATE_VECTORS = 2
# The same in (heads, length, length) matrices for each sequence: attention probabilities before and after
# dropout.
_BLOCK_ATTENTION_MATRICES = 2
# What the backward pass of one block needs in addition, in the same three units: gradients of the current
# vectors and matrices, and the gradients computed from them.
_BACKWARD_HIDDEN_VECTORS = 3
_BACKWARD_INTERMEDIATE_VECTORS = 2
_BACKWARD_ATTENTION_MATRICES = 2
# The embeddings keep their normalized sum and their output.
_EMBEDDING_HIDDEN_VECTORS = 2
# float32 vectors of `vocab_size` for each prediction at the moment of highest use: logits, their gradient,
# and a copy of it. (Fitted to the measurements of docs/watching.md; single rows ask for 1.7 to 4.2.)
_LOGIT_VECTORS = 3
# Copies of all gradients while weights are updated: before and after clipping.
_GRADIENT_COPIES = 2
# The same while gradients of the parts of a batch are added: sums before and after, and the loop's copies.
_ACCUMULATION_COPIES = 4
_SLOTS = 2  # moments of Adam and LAMB
# Traced graphs and compiled kernels: the rest of the measured peaks on a CPU. The same number is used for
# other devices, where the needs of their libraries were not measured.
_PROGRAM_BYTES = 280_000_000

_COMPUTE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on one device, by what they hold.

    Args:
      parameters: weights in float32.
      optimizer: moments in float32.
      casts: a copy of the weights in the compute dtype, and the joined matrices of query, key and value.
      gradients: gradients in float32 while weights are updated.
      accumulation: sums of gradients, where a step has several parts.
      activations: what the encoder keeps for the backward pass.
      working: what the backward pass of one block needs in addition.
      logits: the masked-LM head's outputs and their gradients.
      programs: traced graphs and compiled kernels.
    """

    parameters: int
    optimizer: int
    casts: int
    gradients: int
    accumulation: int
    activations: int
    working: int
    logits: int
    programs: int = _PROGRAM_BYTES

    @property
    def total(self) -> int:
        """Bytes at the moment of highest use.

        Weights and moments are always in memory. In addition there are either all activations and the
        gradients of the logits (when the backward pass begins) or all gradients (when it has ended).
        """
        held = self.programs + self.parameters + self.optimizer + self.casts + self.accumulation
        return held + max(self.activations + max(self.working, self.logits), self.gradients)

    def rows(self) -> list[tuple[str, int]]:
        """(name, bytes) of every part, in order."""
        return [(name, getattr(self, name)) for name in self.__dataclass_fields__]


@dataclass(frozen=True)
class TrainingShape:
    """What the memory of one device depends on, in addition to the encoder.

    Args:
      batch_size: the number of examples that a device works on at a time: the global batch divided by
        replicas and accumulation steps.
      seq_length: tokens of a sequence, including padding.
      predictions: masked positions of a sequence, with a masked-LM head.
      heads: the task's.
      precision: see kbert.config.PRECISIONS.
      recompute: whether the backward pass computes the activations of each block again.
      accumulates: whether a step has several parts (gradient accumulation).
      frozen: what is not trained.
      lora: the adapters, if there are any; then all of the encoder is frozen.
    """

    batch_size: int
    seq_length: int
    predictions: int = 0
    heads: Heads = Heads()
    precision: str = "float32"
    recompute: bool = False
    accumulates: bool = False
    frozen: FrozenConfig = FrozenConfig()
    lora: LoraConfig | None = None


def estimate_memory(config: EncoderConfig, shape: TrainingShape) -> MemoryEstimate:
    """The memory of a training step with an optimizer of two moments, on one device.

    Example:
      >>> heads = Heads(masked_lm=True, pooled_labels=2)
      >>> estimate = estimate_memory(EncoderConfig(), TrainingShape(32, 128, 20, heads))
      >>> f"{estimate.total / 2**30:.1f} GiB for BERT-base"
      '4.7 GiB for BERT-base'
    """
    parameters, width = num_parameters(config, shape.heads), _COMPUTE_BYTES[shape.precision]
    hidden, inner = config.hidden_size, config.intermediate_size
    tokens = shape.batch_size * shape.seq_length
    attention = shape.batch_size * config.num_attention_heads * shape.seq_length**2

    def vectors(of_hidden, of_inner, of_attention):
        return width * (tokens * (of_hidden * hidden + of_inner * inner) + of_attention * attention)

    trained = parameters - num_frozen(config, shape.frozen)
    if shape.lora is not None:
        adapters = num_adapter_parameters(config, shape.lora)
        whole = FrozenConfig(embeddings=True, layers=config.num_hidden_layers)
        trained = parameters - num_frozen(config, whole) + adapters
        parameters += adapters
    layers = config.num_hidden_layers - max(0, shape.frozen.lowest_trained())  # with a backward pass
    kept = vectors(_BLOCK_HIDDEN_VECTORS, _BLOCK_INTERMEDIATE_VECTORS, _BLOCK_ATTENTION_MATRICES)
    working = vectors(_BACKWARD_HIDDEN_VECTORS, _BACKWARD_INTERMEDIATE_VECTORS, _BACKWARD_ATTENTION_MATRICES)
    if shape.recompute:
        activations, working = layers * vectors(1, 0, 0), working + kept
    else:
        activations = layers * kept
    if layers == 0:
        working = kept  # of the layer at work in the forward pass
    activations += vectors(_EMBEDDING_HIDDEN_VECTORS, 0, 0)

    logits = 0
    if shape.heads.masked_lm:
        logits = 4 * shape.batch_size * shape.predictions * config.vocab_size * _LOGIT_VECTORS
        logits += 4 * config.vocab_size * hidden  # the first gradient of the tied table
    joined = config.num_hidden_layers * 3 * hidden**2
    return MemoryEstimate(
        parameters=4 * parameters,
        optimizer=_SLOTS * 4 * trained,
        casts=width * (joined + (parameters if width < 4 else 0)),
        gradients=4 * trained * _GRADIENT_COPIES,
        accumulation=4 * trained * _ACCUMULATION_COPIES if shape.accumulates else 0,
        activations=activations,
        working=working,
        logits=logits,
    )


def num_parameters(config: EncoderConfig, heads: Heads) -> int:
    """Number of parameters of an encoder with heads; the masked-LM head's matrix is the token table."""
    hidden, vocab = config.hidden_size, config.vocab_size
    total = num_frozen(config, FrozenConfig(embeddings=True, layers=config.num_hidden_layers))
    if heads.masked_lm:
        total += hidden * (hidden + 1) + 2 * hidden + vocab
    if heads.pooled_labels:
        total += hidden * (hidden + 1) + (hidden + 1) * heads.pooled_labels
    return total + (hidden + 1) * heads.token_labels


def num_frozen(config: EncoderConfig, frozen: FrozenConfig) -> int:
    """Number of parameters of an encoder that are frozen."""
    hidden, inner, vocab = config.hidden_size, config.intermediate_size, config.vocab_size
    embeddings = (vocab + config.max_position_embeddings + config.type_vocab_size + 2) * hidden
    block = 4 * hidden * (hidden + 1) + inner * (hidden + 1) + hidden * (inner + 1) + 4 * hidden
    return frozen.embeddings * embeddings + frozen.layers * block


def num_adapter_parameters(config: EncoderConfig, lora: LoraConfig) -> int:
    """Number of parameters of all adapters."""
    sizes = lora.sizes(config.hidden_size, config.intermediate_size).values()
    return config.num_hidden_layers * lora.rank * sum(inputs + outputs for inputs, outputs in sizes)


def largest_batch(config: EncoderConfig, shape: TrainingShape, available: int) -> int:
    """The most examples a device can work on at a time within `available` bytes; 0 if not even one fits."""
    if estimate_memory(config, replace(shape, batch_size=1)).total > available:
        return 0
    low, high = 1, 2
    while estimate_memory(config, replace(shape, batch_size=high)).total <= available:
        low, high = high, 2 * high
        if high > 1 << 24:
            break
    while high - low > 1:
        middle = (low + high) // 2
        fits = estimate_memory(config, replace(shape, batch_size=middle)).total <= available
        low, high = (middle, high) if fits else (low, middle)
    return low


def readable_bytes(number: int) -> str:
    """734003200 -> "700 MiB", 7730941133 -> "7.2 GiB"."""
    if number < 1000 * 2**20:
        return f"{number / 2**20:.0f} MiB"
    return f"{number / 2**30:.1f} GiB"
