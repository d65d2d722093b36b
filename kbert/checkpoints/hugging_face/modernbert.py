"""What ModernBERT's folders have of their own: the settings of its layers, and one tensor for three.

Its config.json says which layers have local attention in two ways: as `global_attn_every_n_layers`, or as a
list of `layer_types` with the base of the rotary positions of each type. transformers 5 writes the second.
"""

import dataclasses

from kbert.checkpoints.conversion.matching import Stored
from kbert.config import EncoderConfig
from kbert.files.json_values import json_count, json_texts, json_value, shown
from kbert.files.stored_tensor import StoredTensor, stacked

# What kbert's settings are called there. Those that have the same name come last.
KEYS = {
    "hidden_act": "hidden_activation",
    "hidden_dropout_prob": "mlp_dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "layer_norm_eps": "norm_eps",
} | {
    name: name
    for name in (
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "max_position_embeddings",
        "initializer_range",
        "attention_bias",
        "mlp_bias",
        "norm_bias",
        "classifier_bias",
        "classifier_pooling",
    )
}
# What every ModernBERT has.
_FIXED = {"type_vocab_size": 0, "normalize_first": True, "is_gated_act": True}
# Where config.json has nothing.
DEFAULTS = _FIXED | {
    "vocab_size": 50368,
    "num_hidden_layers": 22,
    "intermediate_size": 1152,
    "max_position_embeddings": 8192,
    "layer_norm_eps": 1e-5,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "attention_bias": False,
    "mlp_bias": False,
    "norm_bias": False,
    "classifier_bias": False,
}
_ENCODER_ALONE = "ModernBertModel"  # its class has none of the heads that config.json speaks of
_MASKED_LM = "ModernBertForMaskedLM"
_LAYER_TYPES = {"global": "full_attention", "local": "sliding_attention"}
_THETAS = {"global": 160_000.0, "local": 10_000.0}
_PROJECTIONS = ("query", "key", "value")
_FUSED = ".attn.Wqkv."


def layer_settings(values: dict, num_hidden_layers: int, path) -> dict:
    """The settings of `EncoderConfig` that say what each layer attends to.

    Raises:
      ValueError: for layers in another order, scaled positions, and heads that kbert does not have.
    """
    _refuse_other_heads(values, path)
    every = json_count(values, "global_attn_every_n_layers", path, least=1)
    types = json_texts(values, "layer_types", path)
    if every is None:
        every = _period(types) if types else 3
    if types is not None and types != _layer_types(num_hidden_layers, every):
        raise ValueError(
            f"{path}: layer_types={shown(types)} should be full_attention for the first layer and each "
            f"{every}th after it, and sliding_attention for the others; kbert has no other order."
        )
    thetas = {kind: _theta(values, kind, path) for kind in _LAYER_TYPES}
    is_local = every > 1
    return {
        "global_rope_theta": thetas["global"],
        "local_rope_theta": thetas["local"] if is_local and thetas["local"] != thetas["global"] else None,
        "local_attention": (json_count(values, "local_attention", path) or 128) if is_local else None,
        "global_attn_every_n_layers": every if is_local else None,
    }


def _refuse_other_heads(values, path):
    if values.get("architectures") == [_ENCODER_ALONE]:
        return
    activation = json_value(values, "hidden_activation", str, path, "gelu")
    theirs = json_value(values, "classifier_activation", str, path, "gelu")
    if theirs != activation:
        raise ValueError(
            f"{path}: classifier_activation={shown(theirs)} is not hidden_activation={shown(activation)}; "
            "kbert has one activation for both."
        )
    name = (values.get("architectures") or [None])[0]
    if not json_value(values, "decoder_bias", bool, path, True) and name in (None, _MASKED_LM):
        raise ValueError(f"{path}: decoder_bias=false, but kbert's masked-LM head has a bias for each token.")


def _period(types):
    """After how many layers the second global one comes."""
    later = [index for index, name in enumerate(types) if index and name == _LAYER_TYPES["global"]]
    return later[0] if later else max(len(types), 2)


def _layer_types(number, every):
    return [_LAYER_TYPES["local" if index % every else "global"] for index in range(number)]


def _theta(values, kind, path):
    parameters = json_value(values, "rope_parameters", dict, path, {})
    if unknown := parameters.keys() - set(_LAYER_TYPES.values()):
        raise ValueError(
            f"{path}: rope_parameters has {shown(sorted(unknown))}; expected "
            f"{' and '.join(_LAYER_TYPES.values())}."
        )
    own = json_value(parameters, _LAYER_TYPES[kind], dict, f"{path}: rope_parameters", {})
    key = "rope_type" if "rope_type" in own else "type"  # the older name
    rope_type = json_value(own, key, str, f"{path}: rope_parameters", "default")
    if rope_type != "default" or values.get("rope_scaling"):
        raise ValueError(
            f"{path}: its rotary positions are scaled (rope_type={shown(rope_type)}, rope_scaling="
            f"{shown(values.get('rope_scaling'))}); kbert has those of type 'default'."
        )
    others = own.keys() - {"rope_type", "type", "rope_theta"}
    if others := {name: own[name] for name in others if own[name] not in (None, 1, 1.0)}:
        raise ValueError(
            f"{path}: its rotary positions are scaled or partial (rope_parameters: {shown(others)}); kbert "
            "has those "
            "of type 'default'."
        )
    name = f"{kind}_rope_theta"
    if kind == "local" and name in values and values[name] is None:  # in transformers 4: that of the others
        whole = _theta(values, "global", path)
    else:
        whole = json_value(values, name, float, path, _THETAS[kind])
    return json_value(own, "rope_theta", float, f"{path}: rope_parameters", whole)


def require_modernbert(encoder: EncoderConfig, source: str):
    """Raises ValueError for an encoder with rotary positions that is no ModernBERT."""
    wrong = [
        name for name, value in (_FIXED | {"embedding_size": None}).items() if getattr(encoder, name) != value
    ]
    if encoder.pooler_hidden_act != encoder.hidden_act:
        wrong.append("pooler_hidden_act")
    if wrong:
        settings = ", ".join(f"{name}={getattr(encoder, name)!r}" for name in wrong)
        raise ValueError(
            f"{source} has rotary positions, but also {settings}: transformers has no class with both; keep "
            "it as a run (--format=kbert)."
        )


def config_values(values: dict, encoder: EncoderConfig, special_ids: dict[str, int]) -> dict:
    """The object of config.json.

    Args:
      values: BERT's object for the same encoder.
      encoder: the encoder.
      special_ids: the ids of "cls" and "sep".
    """
    settings = dataclasses.asdict(encoder)
    renamed = {theirs: values.get(ours, settings[ours]) for ours, theirs in KEYS.items()}
    gone = {*KEYS, "type_vocab_size", "position_embedding_type"}
    every = encoder.global_attn_every_n_layers or 1
    thetas = {"global": encoder.global_rope_theta, "local": encoder.rope_theta(1)}
    return {
        **{name: value for name, value in values.items() if name not in gone},
        **renamed,
        "embedding_dropout": encoder.hidden_dropout_prob,
        "classifier_dropout": encoder.hidden_dropout_prob,
        "classifier_activation": renamed["hidden_activation"],
        "decoder_bias": True,
        "global_attn_every_n_layers": every,
        "layer_types": _layer_types(encoder.num_hidden_layers, every),
        "local_attention": encoder.local_attention or 128,
        # Both ways, for transformers 4 and 5.
        **{f"{kind}_rope_theta": theta for kind, theta in thetas.items()},
        "rope_parameters": {
            _LAYER_TYPES[kind]: {"rope_theta": theta, "rope_type": "default"}
            for kind, theta in thetas.items()
        },
        **{f"{name}_token_id": special_ids["cls"] for name in ("bos", "cls")},
        **{f"{name}_token_id": special_ids["sep"] for name in ("eos", "sep")},
    }


def split_projections(stored: Stored):
    """Replaces each tensor that holds query, key and value by three, `layers.0.attn.Wqkv.query.weight` ..."""
    for name in [name for name in stored.tensors if _FUSED in name]:
        tensor = stored.tensors[name]
        if not tensor.shape or tensor.shape[0] % len(_PROJECTIONS):
            continue  # no such tensor: it is refused by its name
        del stored.tensors[name]
        original, rows = stored.original(name), tensor.shape[0] // len(_PROJECTIONS)
        for index, own in enumerate(_own_names(name)):
            stored.tensors[own] = tensor.rows(index * rows, (index + 1) * rows)
            stored.originals[own] = original


def join_projections(tensors: dict[str, StoredTensor]) -> dict[str, StoredTensor]:
    """The reverse, for the tensors of a file that is written."""
    first = f"{_FUSED}{_PROJECTIONS[0]}."
    for name in [name.replace(first, _FUSED) for name in tensors if first in name]:
        tensors[name] = stacked([tensors.pop(own) for own in _own_names(name)])
    return tensors


def _own_names(name):
    return [name.replace(_FUSED, f"{_FUSED}{projection}.") for projection in _PROJECTIONS]
