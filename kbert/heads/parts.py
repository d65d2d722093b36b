"""The pooler and the heads of a model by names and shapes; no model is built. Standard library only."""

from dataclasses import dataclass

from kbert.config import EncoderConfig
from kbert.config.dense_config import DenseConfig
from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig
from kbert.config.token_vectors_config import TOKEN_VECTORS_LAYER

_MASKED_LM = "masked_lm"
_POOLER = "pooler"
LSTM_LAYERS = 2  # of `BiLstmHead`: "two-layer", arXiv 1810.04805, section 5.3


@dataclass(frozen=True)
class Part:
    """The pooler, or a head.

    Args:
      name: the name of its layer; the names of its variables begin with it.
      reads: "pooled_output" (one vector per sequence), "sequence_output" (one per token), "hidden_states"
        (one per token and layer) or "masked_positions" (one per masked token).
      num_outputs: the number of logits for each of these vectors. It is 0 for the pooler, which gives no
        logits, and for the masked-LM head, which gives one for each piece of the vocabulary.
      has_labels: whether each output stands for a label of the task: then the last axis of its layer `dense`
        is that of the labels, and a trained head is right only for the same labels.
    """

    name: str
    reads: str
    num_outputs: int = 0
    has_labels: bool = False

    def shapes(self, config: EncoderConfig) -> dict[str, tuple[int, ...]]:
        """The shape of every variable by name."""
        hidden, bias = config.hidden_size, config.classifier_bias
        if self.name == _MASKED_LM:
            return {
                **dense_shapes("masked_lm/transform", hidden, config.embedding_width, bias),
                **layer_norm_shapes("masked_lm/layer_norm", config.embedding_width, config.norm_bias),
                "masked_lm/output_bias": (config.vocab_size,),
            }
        if self.name == _POOLER:
            norm = layer_norm_shapes("pooler/layer_norm", hidden, config.norm_bias)
            dense = dense_shapes("pooler/dense", hidden, hidden, bias)
            return dense | norm if config.normalize_first else dense
        shapes = dense_shapes(f"{self.name}/dense", hidden, self.num_outputs)
        if self.reads == "sequence_output" and config.normalize_first:  # see `token_head_arguments`
            shapes |= dense_shapes(f"{self.name}/transform", hidden, hidden, bias)
            shapes |= layer_norm_shapes(f"{self.name}/layer_norm", hidden, config.norm_bias)
        return shapes


@dataclass(frozen=True)
class ScalarMixPart(Part):
    """The weights of `ScalarMix`.

    Args:
      num_layers: how many layers it adds up; 0 for all, without the embeddings.
    """

    num_layers: int = 0

    def shapes(self, config):
        number = self.num_layers or config.num_hidden_layers
        return {f"{self.name}/layer_weights": (number,), f"{self.name}/scale": ()}


@dataclass(frozen=True)
class BiLstmPart(Part):
    """A `BiLstmHead`.

    Args:
      num_layers: of how many layers it reads the vectors, side by side.
      width: the head's.
    """

    num_layers: int = 1
    width: int = 0

    def shapes(self, config):
        shapes: dict[str, tuple[int, ...]] = {}
        half = self.width // 2
        for number in range(LSTM_LAYERS):
            size = self.width if number else self.num_layers * config.hidden_size
            for direction in ("forward", "backward"):
                cell = f"{self.name}/bilstm_{number}/{direction}_lstm/lstm_cell"
                shapes[f"{cell}/kernel"] = (size, 4 * half)
                shapes[f"{cell}/recurrent_kernel"] = (half, 4 * half)
                shapes[f"{cell}/bias"] = (4 * half,)
        return shapes | dense_shapes(f"{self.name}/dense", self.width, self.num_outputs)


@dataclass(frozen=True)
class DensePart(Part):
    """A `VectorDense`.

    Args:
      dense: its layers.
      num_vectors: how many vectors of the encoder stand behind each other in its input.
      layer: the name of the `VectorDense` in the layer `name`; "" where it is that layer.
    """

    dense: tuple[DenseConfig, ...] = ()
    num_vectors: int = 1
    layer: str = ""

    def shapes(self, config):
        shapes: dict[str, tuple[int, ...]] = {}
        prefix = f"{self.name}/{self.layer}/" if self.layer else f"{self.name}/"
        width = config.hidden_size * self.num_vectors
        for number, dense in enumerate(self.dense):
            shapes |= dense_shapes(f"{prefix}dense_{number}", width, dense.units, dense.use_bias)
            if dense.needs_matrix(width):
                shapes |= dense_shapes(f"{prefix}residual_{number}", width, dense.units, bias=False)
            width = dense.units
        return shapes


POOLER = Part(_POOLER, "sequence_output")
# The parts that make vectors, not logits.
NO_HEADS = {_POOLER, POOLING_LAYER, TOKEN_VECTORS_LAYER}
MASKED_LM = Part(_MASKED_LM, "masked_positions")


def pooled_head(name: str, num_outputs: int, has_labels: bool = False) -> tuple[Part, ...]:
    """The pooler, and a head on top of it."""
    return POOLER, Part(name, "pooled_output", num_outputs, has_labels)


def vector_parts(pooling: PoolingConfig | None) -> tuple[Part, ...]:
    """The dense layers behind the pooling, if there are any."""
    if pooling is None or not pooling.dense:
        return ()
    return (
        DensePart(POOLING_LAYER, "sequence_output", 0, False, pooling.dense, len(pooling.modes), "dense"),
    )


def token_head(name: str, num_outputs: int, has_labels: bool = False) -> tuple[Part, ...]:
    """A head with logits for each token."""
    return (Part(name, "sequence_output", num_outputs, has_labels),)


def dense_shapes(name: str, inputs: int, outputs: int, bias: bool = True) -> dict[str, tuple[int, ...]]:
    """Name -> shape of a dense layer's variables."""
    return {f"{name}/kernel": (inputs, outputs)} | ({f"{name}/bias": (outputs,)} if bias else {})


def layer_norm_shapes(name: str, width: int, center: bool = True) -> dict[str, tuple[int, ...]]:
    """Name -> shape of a layer norm's variables."""
    return {f"{name}/{end}": (width,) for end in ("gamma", *(["beta"] if center else []))}
