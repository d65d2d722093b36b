"""The variables of every kbert model, by name and shape, from the config alone: no model is built."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kbert.config import EncoderConfig
from kbert.heads.parts import POOLER, Part, dense_shapes, layer_norm_shapes
from kbert.tasks import TASKS


def task_parts(task: str, labels: Sequence[str] = ()) -> dict[str, Part]:
    """The parts of a task's model by name. `labels` are the checkpoint's; only their number matters."""
    return {part.name: part for part in TASKS[task].from_labels(tuple(labels)).parts}


def with_pooler(parts: dict[str, Part]) -> dict[str, Part]:
    """The parts and the pooler, which published encoders have even if a task does not need it."""
    return parts | {POOLER.name: POOLER}


def part_name(name: str) -> str:
    """The part that a variable belongs to: "body", "pooler" or a head's name."""
    first = name.split("/")[0]
    return "body" if first == "embeddings" or first.startswith("layer_") else first


def body_shapes(config: EncoderConfig) -> dict[str, tuple[int, ...]]:
    """Embeddings and layers: name -> shape."""
    width = config.embedding_width
    shapes = {
        "embeddings/word_embeddings": (config.vocab_size, width),
        **layer_norm_shapes("embeddings/layer_norm", width, config.norm_bias),
    }
    if config.num_position_rows:
        shapes["embeddings/position_embeddings"] = (config.num_position_rows, width)
    if config.type_vocab_size:
        shapes["embeddings/token_type_embeddings"] = (config.type_vocab_size, width)
    if config.relative_attention_num_buckets:
        table = (config.relative_attention_num_buckets, config.num_attention_heads)
        shapes["embeddings/position_bias/relative_attention_bias"] = table
    if config.embedding_size is not None:
        shapes |= dense_shapes("embeddings/projection", width, config.hidden_size)
    for index in range(config.num_hidden_layers):
        shapes |= _block_shapes(config, index)
    return shapes


def _block_shapes(config, index):
    hidden, inner, layer = config.hidden_size, config.intermediate_size, f"layer_{index}"
    norms = ["attention_layer_norm", "feed_forward_layer_norm"]
    if config.normalize_first:
        norms = norms[0 if index else 1 :]
        norms += ["final_layer_norm"] if index == config.num_hidden_layers - 1 else []
    shapes: dict[str, tuple[int, ...]] = {}
    for projection in ("query", "key", "value", "output"):
        name = f"{layer}/attention/{projection}"
        shapes |= dense_shapes(name, hidden, hidden, config.attention_bias)
    for name in norms:
        shapes |= layer_norm_shapes(f"{layer}/{name}", hidden, config.norm_bias)
    widened = inner * (2 if config.is_gated_act else 1)
    shapes |= dense_shapes(f"{layer}/feed_forward/intermediate", hidden, widened, config.mlp_bias)
    return shapes | dense_shapes(f"{layer}/feed_forward/output", inner, hidden, config.mlp_bias)


def model_shapes(config: EncoderConfig, parts: Iterable[Part]) -> dict[str, tuple[int, ...]]:
    """Every trained variable of a model with these parts: name -> shape, as in `trained_weights(model)`."""
    shapes = body_shapes(config)
    for part in parts:
        shapes |= part.shapes(config)
    return shapes


def require_parts(task, variables: Mapping[str, Any], config: EncoderConfig):
    """Compares what a task's model has on top of the encoder's layers with what the task says of it.

    Args:
      task: the `Task`.
      variables: the trained variables of its model, by name.
      config: the model's encoder.

    Raises:
      ValueError: when `build_model` and `parts` differ in a name or a shape.
    """
    built = {name: tuple(v.shape) for name, v in variables.items() if part_name(name) != "body"}
    expected = {name: shape for part in task.parts for name, shape in part.shapes(config).items()}
    if built != expected:
        made, named = (
            ", ".join(f"{name} {shape}" for name, shape in sorted(own.items() - other.items())) or "no more"
            for own, other in ((built, expected), (expected, built))
        )
        raise ValueError(
            f"{task.name}: build_model makes {made}, where parts names {named}; make parts name what "
            "build_model makes, because checkpoints are read by it."
        )


def fresh_value(name: str, shape: tuple[int, ...], initializer_range: float) -> np.ndarray:
    """Initial float32 values for a variable that is in no file: as in a new model, and the same each time.

    Biases and betas are 0, gammas 1, everything else is normal with deviation `initializer_range`, cut at
    two deviations (modeling.py, `create_initializer`); the seed is the variable's name.
    """
    last = name.rsplit("/", 1)[-1]
    if last in ("bias", "beta", "output_bias"):
        return np.zeros(shape, np.float32)
    if last == "gamma":
        return np.ones(shape, np.float32)
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    values = generator.standard_normal(shape, np.float32)
    while (outside := np.abs(values) > 2.0).any():
        values[outside] = generator.standard_normal(int(outside.sum()), np.float32)
    return values * np.float32(initializer_range)
