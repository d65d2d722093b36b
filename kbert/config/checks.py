"""Checks that all configs use; each error is one sentence."""

import dataclasses
from collections.abc import Mapping
from typing import Literal, get_args, get_origin

from kbert.files.json_values import shown

SHORTEST_LENGTH = 4  # [CLS] a [SEP] [SEP]: a pair of which one token is left

# The largest accepted value of each setting: beyond any practical use, and small enough that numbers computed
# from it do not overflow. A larger value is a mistake, or comes from a file made to overload a machine.
_LARGEST_STEP = 10**12
_LARGEST_LENGTH = 2**20
_LARGEST_BATCH = 10**7
_MOST_LAYERS = 1000
_LARGEST = {
    "vocab_size": 10_000_000,
    "hidden_size": 65_536,
    "embedding_size": 65_536,
    "num_hidden_layers": _MOST_LAYERS,
    "num_attention_heads": 65_536,
    "intermediate_size": 262_144,
    "max_position_embeddings": _LARGEST_LENGTH,
    "type_vocab_size": 65_536,
    "relative_attention_num_buckets": 256,  # a quarter for one distance each, all below 128
    "global_rope_theta": 1e12,
    "local_rope_theta": 1e12,
    "local_attention": _LARGEST_LENGTH,
    "global_attn_every_n_layers": _MOST_LAYERS,
    "learning_rate": 3e38,  # the limit of float32
    "weight_decay": 1000,
    "epsilon": 1,
    "decay_power": 100,
    "train_minutes": 1e8,
    "train_batch_size": _LARGEST_BATCH,
    "eval_batch_size": _LARGEST_BATCH,
    "gradient_accumulation_steps": _LARGEST_BATCH,
    "packed_rows": _LARGEST_BATCH,
    "steps_per_execution": 10**9,
    "log_every_steps": _LARGEST_STEP,
    "save_checkpoints_steps": _LARGEST_STEP,
    "keep_checkpoints": 10**9,
    "peak_flops": 1e30,
    "num_train_steps": _LARGEST_STEP,
    "eval_every_steps": _LARGEST_STEP,
    "max_eval_steps": _LARGEST_STEP,
    "max_seq_length": _LARGEST_LENGTH,
    "num_train_epochs": 1e6,
    "eval_every_epochs": 1e6,
    "max_train_examples": _LARGEST_STEP,
    "early_stopping_patience": 10**9,
    "layers": _MOST_LAYERS,  # of [frozen]
    "reinit_layers": _MOST_LAYERS,
    "rank": 65_536,  # of [lora]
    "alpha": 1e6,
}
# The least accepted value; all others must be positive.
_LEAST = {
    "max_seq_length": SHORTEST_LENGTH,
    "max_position_embeddings": SHORTEST_LENGTH,
    "type_vocab_size": 0,
    "relative_attention_num_buckets": 4,
    "weight_decay": 0,
    "layers": 0,
    "reinit_layers": 0,
}
_BELOW_ONE = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "dropout_prob",
    "dropout",  # of [lora]
    "beta_1",
    "beta_2",
    "budget_warmup_proportion",
)


def require(condition: bool, message: str):
    if not condition:
        raise ValueError(message)


def require_choices(settings):
    """Refuses values of a dataclass that are none of those of their `Literal`."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if get_origin(field.type) is Literal and value not in (known := get_args(field.type)):
            raise ValueError(f"{field.name}={value!r} is not known; choose one of {', '.join(known)}.")


def require_single(values: Mapping[str, object]):
    """Raises ValueError unless exactly one of the values, by their names for people, is there."""
    received = [name for name, value in values.items() if value]
    require(
        len(received) == 1,
        f"expected one of {', '.join(values)}; received {' and '.join(received) or 'none of them'}.",
    )


def check_limits(config, group: str = ""):
    """Refuses numbers outside the range of their setting, and NaN; None passes."""
    for name, value in vars(config).items():
        if value is None:
            continue
        setting = f"{group}{name}={shown(value)}"
        if name in _BELOW_ONE:
            require(0 <= value < 1, f"{setting} must be at least 0 and below 1.")
        elif name in _LARGEST:
            least = _LEAST.get(name)
            if least is None:
                require(value > 0, f"{setting} must be positive.")
            elif least == 0:
                require(value >= 0, f"{setting} must not be negative.")
            else:
                require(value >= least, f"{setting} must be at least {least}.")
            require(value <= _LARGEST[name], f"{setting} must be at most {_LARGEST[name]}.")
