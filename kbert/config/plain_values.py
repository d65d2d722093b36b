"""Converts a config to plain values, those that JSON and TOML have, and back."""

import dataclasses
import json
import math
import types
import typing

from kbert.checks import require
from kbert.config.encoder_config import EncoderConfig
from kbert.config.presets import expand_encoder
from kbert.config.setting_paths import closest_setting, other_meaning
from kbert.files.json_values import is_unicode, shown

# Settings of before, which config.json or run.json of older runs holds: what to do instead of turning one on.
GONE = {
    "deterministic_ops": "It is gone: delete it, and train with TF_DETERMINISTIC_OPS=1 in your shell.",
    "reproduce_run_squad": "It is gone: delete it. Evaluations answer as predictions do.",
}


def to_dict(config) -> dict:
    """A config as plain values, ready for JSON; `from_dict` makes an equal config of them."""
    return json.loads(json.dumps(dataclasses.asdict(config), allow_nan=False))


def from_dict(config_class, values, where: str = "config"):
    """Builds a (nested) config dataclass from the plain values of a JSON or TOML file.

    Raises:
      ValueError: naming `where`, the key, what was received and what was expected.
    """
    return _build(config_class, values, where, config_class)


def _build(config_class, values, where, root_class):
    """As `from_dict`; `root_class`: the class of the whole file, of which this may be one table."""
    if config_class is EncoderConfig:
        values = expand_encoder(values, where)
    require(isinstance(values, dict), f"{where}: expected an object of settings, received {shown(values)}.")
    hints = typing.get_type_hints(config_class)
    values = {key: value for key, value in values.items() if value or key not in GONE}
    for key in values:
        if key not in hints:
            close = closest_setting(key, [config_class])
            hint = f"Known keys: {', '.join(hints)}."
            if close:
                hint = f"Did you mean {close!r}?{other_meaning(key)}"
            if config_class is not root_class and key in typing.get_type_hints(root_class):
                hint = (
                    f"It is a setting of the whole config: write it above the first [table], as {key} = ..."
                )
            hint = GONE.get(key, hint)
            raise ValueError(f"{where}: unknown key {shown(key)} for {config_class.__name__}. {hint}")
    converted = {
        key: _convert(hints[key], value, f"{where}: {key}", root_class) for key, value in values.items()
    }
    try:
        return config_class(**converted)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _convert(hint, value, where, root_class):
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        kinds = typing.get_args(hint)
        if value is None and type(None) in kinds:
            return None
        kinds = [kind for kind in kinds if kind is not type(None)]
        if len(kinds) > 1:
            names = " or ".join(kind.__name__ for kind in kinds)
            require(type(value) in kinds, f"{where}: expected {names}, received {shown(value)}.")
            return value
        (hint,) = kinds
    if typing.get_origin(hint) is typing.Literal:  # the config says what it may be
        hint = str
    if dataclasses.is_dataclass(hint):
        return _build(hint, value, where, root_class)
    if typing.get_origin(hint) is tuple:
        remedy = _in_json(tuple, value)
        wrong = f"{where}: expected a list, received {shown(value)}{remedy}."
        require(isinstance(value, list | tuple), wrong)
        return tuple(_convert(typing.get_args(hint)[0], item, where, root_class) for item in value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return _as_float(value)
    if hint is str and type(value) is int:  # a label or a column that is a number: --override, and Python
        return str(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        remedy = _in_json(hint, value)
        raise ValueError(f"{where}: expected {hint.__name__}, received {shown(value)}{remedy}.")
    if hint is str and not is_unicode(value):
        raise ValueError(f"{where}: {shown(value)} holds half a surrogate pair; expected a text.")
    return value


def _in_json(kind, value) -> str:
    """How to write a value that stands in a text: .2 or True, which JSON does not have, or in quotes."""
    if kind is str and isinstance(value, bool | float):  # a label such as true or 1.0
        text = json.dumps(json.dumps(value))
        return f"; if you mean the text, write {text}, in a shell with single quotes around the override"
    if kind is tuple and isinstance(value, str):  # the shell takes the inner quotes of a list without outer
        return '; in --override it is JSON, in quotes of the shell: \'NAME=["a", "b"]\''
    if kind is bool and str(value).lower() in ("true", "false"):
        return f"; write {str(value).lower()}"
    try:
        number = kind(value) if kind in (int, float) and isinstance(value, str) else math.nan
    except ValueError:
        return ""
    return f"; write {number}" if math.isfinite(number) else ""


def _as_float(value):
    try:
        return float(value)
    except OverflowError:  # more than 1.8e308; check_values refuses it and names the setting
        return math.inf if value > 0 else -math.inf
