"""BERT in plain NumPy (float64), written from google-research/bert, modeling.py and run_pretraining.py.

What ModernBERT changes is written from arXiv 2412.13663, section 2.1, and 2104.09864 (rotary positions).
Slow and literal on purpose: loops over heads, no fused products. Weights are a dict under kbert's names.
"""

import math

import numpy as np

LAYER_NORM_EPS = 1e-12


def gelu_tanh(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def gelu_erf(x):
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / np.sqrt(2.0)))


ACTIVATIONS = {
    "gelu": gelu_tanh,
    "gelu_erf": gelu_erf,
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "linear": lambda x: x,
}


def dense(weights, name, x):
    return x @ weights[f"{name}/kernel"] + weights.get(f"{name}/bias", 0.0)


def layer_norm(weights, name, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    normed = centred / np.sqrt(variance + LAYER_NORM_EPS)
    return normed * weights[f"{name}/gamma"] + weights.get(f"{name}/beta", 0.0)


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def embed(weights, input_ids, segment_ids):
    total = weights["embeddings/word_embeddings"][input_ids]
    if "embeddings/position_embeddings" in weights:
        total = total + weights["embeddings/position_embeddings"][None, : input_ids.shape[1]]
    segments = weights.get("embeddings/token_type_embeddings")
    if segments is not None:  # RoBERTa has one row, whatever the segment
        total = total + segments[segment_ids if len(segments) > 1 else np.zeros_like(segment_ids)]
    normed = layer_norm(weights, "embeddings/layer_norm", total)
    if "embeddings/projection/kernel" in weights:  # ELECTRA, arXiv 2003.10555, section 3.2
        normed = dense(weights, "embeddings/projection", normed)
    return normed


def bucket(distance, num_buckets):
    """T5's bucket of a distance, from a token to a later one (arXiv 1910.10683; MPNet's is the same)."""
    half = num_buckets // 2
    exact, first = half // 2, half if distance > 0 else 0
    distance = abs(distance)
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(128 / exact)
    return first + min(exact + int(share * (half - exact) + 1e-9), half - 1)


def position_bias(weights, length):
    """(heads, from, to); None for a model without the table."""
    table = weights.get("embeddings/position_bias/relative_attention_bias")
    if table is None:
        return None
    rows = [[table[bucket(to - start, len(table))] for to in range(length)] for start in range(length)]
    return np.array(rows).transpose(2, 0, 1)


def turn(x, theta):
    """(batch, length, size): pairs of numbers as complex ones, turned by position / theta^(2 i / size)."""
    half = x.shape[-1] // 2
    pairs = x[..., :half] + 1j * x[..., half:]
    angles = np.arange(x.shape[1])[:, None] / theta ** (np.arange(half) / half)
    turned = pairs * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag], axis=-1)


def attend(weights, name, hidden, input_mask, num_heads, theta=None, window=None):
    """(output, probabilities of shape (batch, heads, from, to))."""
    query, key, value = (dense(weights, f"{name}/{part}", hidden) for part in ("query", "key", "value"))
    size, biases = hidden.shape[-1] // num_heads, position_bias(weights, hidden.shape[1])
    contexts, probabilities = [], []
    far = np.abs(np.subtract.outer(*[np.arange(hidden.shape[1])] * 2)) > (
        np.inf if window is None else window
    )
    for head in range(num_heads):
        place = slice(head * size, (head + 1) * size)
        pair = [x[..., place] if theta is None else turn(x[..., place], theta) for x in (query, key)]
        scores = pair[0] @ pair[1].transpose(0, 2, 1) / np.sqrt(size)
        scores = scores + (0.0 if biases is None else biases[head])
        scores = scores + ((input_mask[:, None, :] == 0) | far) * -10000.0
        probabilities.append(softmax(scores))
        contexts.append(probabilities[-1] @ value[..., place])
    output = dense(weights, f"{name}/output", np.concatenate(contexts, axis=-1))
    return output, np.stack(probabilities, axis=1)


def feed_forward(weights, name, hidden, config):
    widened = dense(weights, f"{name}/intermediate", hidden)
    inner = ACTIVATIONS[config.hidden_act](widened[..., : config.intermediate_size])
    if config.is_gated_act:
        inner = inner * widened[..., config.intermediate_size :]
    return dense(weights, f"{name}/output", inner)


def block(weights, index, hidden, input_mask, config):
    """(output, attention probabilities)."""
    name, is_global = f"layer_{index}", index % (config.global_attn_every_n_layers or 1) == 0
    theta = config.global_rope_theta if is_global else config.local_rope_theta
    window = None if is_global else config.local_attention // 2
    settings = input_mask, config.num_attention_heads, theta, window
    if config.normalize_first:
        normed = layer_norm(weights, f"{name}/attention_layer_norm", hidden) if index else hidden
        attended, probabilities = attend(weights, f"{name}/attention", normed, *settings)
        hidden = hidden + attended
        normed = layer_norm(weights, f"{name}/feed_forward_layer_norm", hidden)
        hidden = hidden + feed_forward(weights, f"{name}/feed_forward", normed, config)
        if index == config.num_hidden_layers - 1:
            hidden = layer_norm(weights, f"{name}/final_layer_norm", hidden)
        return hidden, probabilities
    attended, probabilities = attend(weights, f"{name}/attention", hidden, *settings)
    hidden = layer_norm(weights, f"{name}/attention_layer_norm", hidden + attended)
    outer = feed_forward(weights, f"{name}/feed_forward", hidden, config)
    return layer_norm(weights, f"{name}/feed_forward_layer_norm", hidden + outer), probabilities


def encode_all(weights, inputs, config):
    """(hidden states: the embeddings' and every layer's; attention probabilities of every layer)."""
    weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    hidden_states = [embed(weights, inputs["input_ids"], inputs["segment_ids"])]
    attentions = []
    for index in range(config.num_hidden_layers):
        hidden, probabilities = block(weights, index, hidden_states[-1], inputs["input_mask"], config)
        hidden_states.append(hidden)
        attentions.append(probabilities)
    return hidden_states, attentions


def encode(weights, inputs, config):
    """(sequence_output, pooled_output) for a dict of encoder inputs."""
    hidden_states, _ = encode_all(weights, inputs, config)
    sequence_output = hidden_states[-1]
    weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    pooled = sequence_output[:, 0]
    if config.classifier_pooling == "mean":
        mask = inputs["input_mask"][..., None]
        pooled = (sequence_output * mask).sum(axis=1) / mask.sum(axis=1)
    pooled = ACTIVATIONS[config.pooler_hidden_act](dense(weights, "pooler/dense", pooled))
    if config.normalize_first:
        pooled = layer_norm(weights, "pooler/layer_norm", pooled)
    return sequence_output, pooled


def pretraining_logits(weights, inputs, config):
    """(masked_lm_logits, next_sentence_logits)."""
    sequence_output, pooled_output = encode(weights, inputs, config)
    weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    masked = np.stack([row[p] for row, p in zip(sequence_output, inputs["masked_lm_positions"], strict=True)])
    masked = ACTIVATIONS[config.hidden_act](dense(weights, "masked_lm/transform", masked))
    masked = layer_norm(weights, "masked_lm/layer_norm", masked)
    logits = masked @ weights["embeddings/word_embeddings"].T + weights["masked_lm/output_bias"]
    return logits, dense(weights, "next_sentence/dense", pooled_output)
