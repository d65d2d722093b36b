"""The variables of every kbert model, by name and shape, from the config alone: no model is built."""

import zlib

import numpy as np

from kbert.config import EncoderConfig

# What stands on the encoder's body in the model of each task; the head's name is that of its layer.
# "masked_lm" is the task pretraining without next sentence.
PARTS = {
    "encoder": ("pooler",),
    "pretraining": ("pooler", "masked_lm", "next_sentence"),
    "masked_lm": ("masked_lm",),
    "sequence_classification": ("pooler", "classification"),
    "token_classification": ("token_classification",),
    "question_answering": ("span",),
    "multiple_choice": ("pooler", "multiple_choice"),
    "next_sentence": ("pooler", "next_sentence"),
}
LABELLED_TASKS = ("sequence_classification", "token_classification")


def part_of(name: str) -> str:
    """The part that a variable belongs to: "body", "pooler" or a head's name."""
    first = name.split("/")[0]
    return "body" if first == "embeddings" or first.startswith("layer_") else first


def body_shapes(config: EncoderConfig) -> dict[str, tuple[int, ...]]:
    """Embeddings and layers: name -> shape."""
    hidden, inner = config.hidden_size, config.intermediate_size
    shapes = {
        "embeddings/word_embeddings": (config.vocab_size, hidden),
        "embeddings/position_embeddings": (config.max_position_embeddings, hidden),
        "embeddings/token_type_embeddings": (config.type_vocab_size, hidden),
        **_layer_norm("embeddings/layer_norm", hidden),
    }
    for index in range(config.num_hidden_layers):
        layer = f"layer_{index}"
        for projection in ("query", "key", "value", "output"):
            shapes |= _dense(f"{layer}/attention/{projection}", hidden, hidden)
        shapes |= _layer_norm(f"{layer}/attention_layer_norm", hidden)
        shapes |= _dense(f"{layer}/feed_forward/intermediate", hidden, inner)
        shapes |= _dense(f"{layer}/feed_forward/output", inner, hidden)
        shapes |= _layer_norm(f"{layer}/feed_forward_layer_norm", hidden)
    return shapes


def part_shapes(part: str, config: EncoderConfig, num_labels: int) -> dict[str, tuple[int, ...]]:
    """The pooler, or a head: name -> shape. `num_labels` counts for heads with labels only."""
    hidden = config.hidden_size
    if part == "masked_lm":
        return {
            **_dense("masked_lm/transform", hidden, hidden),
            **_layer_norm("masked_lm/layer_norm", hidden),
            "masked_lm/output_bias": (config.vocab_size,),
        }
    width = {
        "pooler": hidden,
        "next_sentence": 2,
        "span": 2,
        "multiple_choice": 1,
        "classification": num_labels,
        "token_classification": num_labels,
    }[part]
    return _dense(f"{part}/dense", hidden, width)


def model_shapes(config: EncoderConfig, task: str, num_labels: int = 0) -> dict[str, tuple[int, ...]]:
    """Every trained variable of a task's model: name -> shape, as in `trained_weights(model)`."""
    shapes = body_shapes(config)
    for part in PARTS[task]:
        shapes |= part_shapes(part, config, num_labels)
    return shapes


def fresh_value(name: str, shape: tuple[int, ...], initializer_range: float) -> np.ndarray:
    """float32 numbers for a variable that no file has: as a fresh model's, and the same each time.

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


def _dense(name, inputs, outputs):
    return {f"{name}/kernel": (inputs, outputs), f"{name}/bias": (outputs,)}


def _layer_norm(name, width):
    return {f"{name}/gamma": (width,), f"{name}/beta": (width,)}
