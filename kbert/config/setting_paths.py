"""The settings of all configs by their full names, such as `optimizer.learning_rate`."""

import dataclasses
import types
import typing

from kbert.files.near_names import nearest_name

# What other libraries call a setting: transformers, Keras, and what people type.
_OTHER_NAMES = {
    "lr": "learning_rate",
    "epochs": "num_train_epochs",
    "batch_size": "train_batch_size",
    "per_device_train_batch_size": "train_batch_size",
    "per_device_eval_batch_size": "eval_batch_size",
    "max_length": "max_seq_length",
    "max_len": "max_seq_length",
    "max_steps": "num_train_steps",
    "warmup_ratio": "warmup_proportion",
    "warmup_steps": "num_warmup_steps",
    "max_grad_norm": "global_clipnorm",
    "metric_for_best_model": "best_metric",
    "sep": "delimiter",
}
_OTHER_MEANINGS = {
    "per_device_train_batch_size": " It is the batch of a whole step, on all devices: multiply by their "
    "number, and by gradient_accumulation_steps, which here divides it."
}


def setting_paths(config_class) -> list[str]:
    """The settings that `--override` can change, each with the groups that it lies in, separated by dots."""
    paths = []
    for name, hint in typing.get_type_hints(config_class).items():
        inner = _group(hint)
        paths += [f"{name}.{path}" for path in setting_paths(inner)] if inner else [name]
    return paths


def _group(hint):
    """The dataclass that a field holds, also as `Group | None`; None for a plain value."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    return next((kind for kind in kinds if dataclasses.is_dataclass(kind)), None)


def find_setting(name: str, config_classes) -> str | None:
    """The full name of a setting; None where there is no such setting.

    Args:
      name: a full name, or the last part of one. Of several settings that end alike, the least deep is meant.
      config_classes: the configs to look in.
    """
    paths = [path for config_class in config_classes for path in setting_paths(config_class)]
    ending = [path for path in paths if path == name or path.endswith(f".{name}")]
    return min(ending, key=lambda path: path.count("."), default=None)


def suggested_setting(name: str, config_classes) -> str | None:
    """As `find_setting`, for messages: also for the name that other libraries have for a setting."""
    return find_setting(name, config_classes) or find_setting(_OTHER_NAMES.get(name, name), config_classes)


def other_meaning(name: str) -> str:
    """A sentence to follow the suggestion, where another library's setting counts something else; or ""."""
    return _OTHER_MEANINGS.get(name, "")


def closest_setting(name: str, config_classes) -> str | None:
    """As `suggested_setting`, also for a misspelt name, in whatever group the setting lies."""
    paths = (path for config_class in config_classes for path in setting_paths(config_class))
    near = nearest_name(name, {path.rpartition(".")[2] for path in paths}, nearness=0.6)
    return suggested_setting(name, config_classes) or (find_setting(near, config_classes) if near else None)
