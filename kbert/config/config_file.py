"""Reads a config file, TOML or JSON by its suffix, applies overrides and checks the result."""

import dataclasses
import functools
import json
import os
from pathlib import Path
from typing import Any

from kbert.checks import python_numbers, require
from kbert.config.plain_values import from_dict, to_dict
from kbert.config.setting_paths import closest_setting, find_setting, other_meaning, suggested_setting
from kbert.files.file_format import path_problem
from kbert.files.json_file import NotJson, parse_json, read_json
from kbert.files.json_values import shown
from kbert.files.near_names import nearest_name
from kbert.files.toml_file import read_toml
from kbert.shipped_configs import FOLDER, configs_directory, find_config

_READERS = {".toml": read_toml, ".json": read_json}
_ALWAYS_THERE = ("optimizer", "dataset")  # groups of every config, whether or not its file names them


class FlagOverride(str):
    """An override that a flag of its own stands for; errors show `flag`, which is what was typed."""

    flag: str

    def __new__(cls, override: str, flag: str):
        made = super().__new__(cls, override)
        made.flag = flag
        return made


def load_config(config_class, path: str | Path, overrides=(), vocab_size: int | None = None):
    """Reads `config_class` from a TOML or JSON file and applies `--override` strings `a.b=value`, in order.

    Args:
      config_class: PretrainingConfig or FinetuningConfig.
      path: a TOML file, as in configs/, or a JSON file, as runs record their config; the suffix decides.
      overrides: strings such as `optimizer.learning_rate=3e-5`.
      vocab_size: the number of tokens of the vocabulary that will be used. An encoder without a `vocab_size`
        of its own gets this one.

    Raises:
      ValueError: for a missing file, another suffix, broken TOML or JSON, an unknown key, a value of another
        type, values that do not fit together, or an encoder smaller than the vocabulary; the message names
        file and key.
    """
    where = str(path)
    try:
        return _config(config_class, _values(path, overrides), where, vocab_size, _all_names(overrides))
    except ValueError as error:
        wrong = _wrong_override(config_class, path, overrides, vocab_size)
        if wrong is None or str(error).startswith("--override="):
            raise
        override, sentence = wrong
        raise ValueError(_override_sentence(override, sentence, where, config_class)) from None


def require_not_overridden(overrides, setting: str, argument: str):
    """Raises ValueError for overrides of a setting that an argument gives to each of several runs."""
    override = find_override(overrides, setting)
    require(
        override is None,
        f"--override={shown(override)} would be lost: {argument} gives {setting} for each run; leave one of "
        "them out.",
    )


def find_override(overrides, setting: str) -> str | None:
    """The first override that says a setting, by its name or in its group; None where none does."""
    return next((override for override in overrides if setting in _names(override)), None)


def _names(override) -> list[str]:
    """The full names of all settings that an override says."""
    key, _, text = (part.strip() for part in override.partition("="))
    value = _override_value(text, override)
    if key == "encoder" and isinstance(value, str):
        value = {"preset": value}
    # Of a group each of its settings is replaced, of anything else the whole.
    replaced = [f"{key}.{name}" for name in value] if _is_part_of_group(key, value) else [key]
    return [*replaced, *_inner_names(key, value)]


def _is_part_of_group(path, value) -> bool:
    """Whether a value gives some settings of a group, and leaves its others as they are."""
    return "." not in path and isinstance(value, dict) and bool(value) and "preset" not in value


def _all_names(overrides):
    return [name for override in overrides for name in _names(override)]


def config_with_settings(config_class, config, settings: dict, vocab_size: int | None = None):
    """A config as a Python call gives it: one that is made already, or a file, with some settings changed.

    Args:
      config_class: PretrainingConfig or FinetuningConfig.
      config: one of these, or a path as for `load_config`.
      settings: name -> value; a name may lack the group that it lies in, such as `optimizer`, if the config
        has that group.
      vocab_size: as for `load_config`.

    Raises:
      ValueError: as `load_config` does, for a name that is no setting, and for one of a group that the config
        has not: `dropout` shall not begin a LoRA training.
    """
    if isinstance(config, config_class) and not settings:
        return config
    values = to_dict(config) if isinstance(config, config_class) else _read(find_config(config))
    plain = {
        name: to_dict(value) if dataclasses.is_dataclass(value) else value for name, value in settings.items()
    }
    paths = {name: _full_name(config_class, name, value) for name, value in settings.items()}
    _require_given_once(paths, plain)
    groups_first = sorted(paths, key=lambda name: paths[name].count("."))
    for name in groups_first:
        value, path = plain[name], paths[name]
        if dataclasses.is_dataclass(settings[name]):  # all of a group
            values.pop(path, None)
        group, _, last = path.rpartition(".")
        if path != name and group not in _ALWAYS_THERE and values.get(group) is None:
            raise ValueError(
                f"{name}={value!r:.60} means {path}, but the config has no {group}. To have one, give "
                f"{group}={{{last!r}: {value!r:.60}}}."
            )
        plain_value = functools.partial(_plain_value, path)
        _apply_override(values, f"{path}={json.dumps(python_numbers(value), default=plain_value)}")
    where = config_class.__name__ if isinstance(config, config_class) else str(config)
    typed = {name for name, value in settings.items() if not dataclasses.is_dataclass(value)}
    names = [path for name in typed for path in _inner_names(paths[name], plain[name])]
    return _config(config_class, values, where, vocab_size, names)


def _full_name(config_class, name, value) -> str:
    """The full name of a setting that a call gives by the last part of it. ValueError for none."""
    fields = {field.name for field in dataclasses.fields(config_class)}
    path = name if name in fields else find_setting(name, [config_class])
    if path is not None:
        return path
    near = closest_setting(name, [config_class])
    hint = f" Did you mean {near.rpartition('.')[2]}?" if near else ""
    if "task_settings" in fields:
        hint += f" A task's own settings are given as task_settings={{{name!r}: ...}}."
    raise ValueError(f"{name}={value!r:.60} is no setting of {config_class.__name__}.{hint}")


def _require_given_once(paths, settings):
    """Raises ValueError for a setting that is given alone and in its group, such as `optimizer`."""
    givers: dict[str, str] = {}  # full name -> the argument
    for name, value in settings.items():
        for path in _inner_names(paths[name], value):
            other = givers.setdefault(path, name)
            require(other == name, f"{path} is given twice, by {other} and by {name}; give it once.")


def _inner_names(path, value) -> list[str]:
    """The full names of all settings that a value gives."""
    if not isinstance(value, dict):
        return [path]
    return [inner for key, each in value.items() for inner in _inner_names(f"{path}.{key}", each)]


def _plain_value(setting, value):
    """A path as its text, and a config in a list as its settings. ValueError for anything else."""
    if dataclasses.is_dataclass(value):
        return to_dict(value)
    if not isinstance(value, os.PathLike):
        raise ValueError(
            f"{setting}: received {value!r:.60}; expected a number, a text, or a list or dict of these."
        )
    return os.fspath(value)


def _values(path, overrides):
    """The values of the file, with the overrides applied."""
    values: dict = _read(find_config(path))
    encoder = values.get("encoder")
    is_listed = isinstance(encoder, dict) and "hidden_size" in encoder and "preset" not in encoder
    for number, override in enumerate(overrides):
        flag = _flag(override)
        preset = override.removeprefix("encoder.preset=")
        if is_listed and preset != override:
            raise ValueError(
                f"{flag}: the encoder of {path} has its own hidden_size and more, which count before a "
                f"preset's; write encoder={preset} to replace them all."
            )
        for before in overrides[:number]:
            if name := _name_of_both(before, override):
                raise ValueError(f"{_flag(before)} and {flag} both say {name}; leave one of them out.")
        _apply_override(values, override)
    return values


def _name_of_both(before, override) -> str | None:
    """A setting that an override says and another one behind it; None without one."""
    key, _, text = before.partition("=")
    is_group = isinstance(_override_value(text, before), dict | str)  # which may be changed further
    for name in _names(override):
        for other in _names(before):
            if other == name or other.startswith(f"{name}.") or (not is_group and name.startswith(f"{key}.")):
                return other
    return None


def _config(config_class, values, where, vocab_size, names):
    """The config of some values. ValueError also where nothing reads one of the settings `names`."""
    encoder = values.get("encoder")
    if isinstance(encoder, str):
        encoder = values["encoder"] = {"preset": encoder}
    if isinstance(encoder, dict) and vocab_size is not None:
        encoder.setdefault("vocab_size", vocab_size)
        require(
            isinstance(encoder["vocab_size"], int) and encoder["vocab_size"] >= vocab_size,
            f"{where}: encoder.vocab_size={shown(encoder['vocab_size'])} is smaller than the vocabulary, "
            f"which has {vocab_size} tokens; leave it out to take the vocabulary's size.",
        )
    config = from_dict(config_class, values, where=where)
    for name in names:
        config.require_read(name)
    return config


def _wrong_override(config_class, path, overrides, vocab_size):
    """(the override that makes a good config wrong, the error); None where the file itself is wrong.

    Overrides apply in order. The one that brought the error that stays to the end is blamed; not one that a
    later override completes.
    """
    wrong = None
    for count in range(len(overrides) + 1):
        try:
            applied = overrides[:count]
            _config(config_class, _values(path, applied), str(path), vocab_size, _all_names(applied))
            wrong = None
        except ValueError as error:
            if count == 0:
                return None
            if wrong is None or wrong[1] != str(error):
                wrong = overrides[count - 1], str(error)
    return wrong


def _override_sentence(override, sentence, where, config_class):
    """The error of a config, as that of an override."""
    name, _, value = override.partition("=")
    path = suggested_setting(name, [config_class])
    if path not in (None, name):
        write = f"write --override={path}={value[:100]}.{other_meaning(name)}"
        return f"--override={name} is no setting by itself; {write}"
    return f"{_flag(override)}: {sentence.removeprefix(where + ': ')}"


def _flag(override):
    """An override as it was typed."""
    return getattr(override, "flag", f"--override={shown(override)}")


def _apply_override(values: dict, override: str):
    """Changes one setting in the values of a config file.

    Args:
      values: the values, changed in place. Objects on the path to the setting that are missing
        or null are created.
      override: such as `optimizer.learning_rate=3e-5` or `phases.0.num_train_steps=100`.

    Raises:
      ValueError: when it has another form, or its path does not lead to a setting.
    """
    flag = f"--override={shown(override)}"
    name, separator, text = override.partition("=")
    require(
        bool(separator and name),
        f"{flag} must look like path.to.field=value, for example optimizer.learning_rate=3e-5.",
    )
    *parents, leaf = name.split(".")
    child: Any
    for parent in parents:
        if isinstance(values, list):  # phases.0.num_train_steps
            known = parent in map(str, range(len(values)))
            require(known, f"{flag}: there is no entry {shown(parent)} in a list of length {len(values)}.")
            child = values[int(parent)]
        else:
            child = values.get(parent)
            if child is None:  # missing, or null as in a run's config.json; a number is refused by its type
                child = values[parent] = {}
            elif isinstance(child, str):  # an encoder preset: keep it and change one of its keys
                child = values[parent] = {"preset": child}
        require(isinstance(child, dict | list), f"{flag}: {shown(parent)} is not a group of settings.")
        values = child
    require(isinstance(values, dict), f"{flag} must name a setting in a list entry: list.0.setting=...")
    value, known = _override_value(text, flag), values.get(leaf)
    known = {"preset": known} if isinstance(known, str) else known
    is_part = _is_part_of_group(name, value) and isinstance(known, dict)
    values[leaf] = known | value if is_part else value


def _override_value(text, flag):
    """The JSON value of a text, or the text itself, so that words need no quotes."""
    try:
        return parse_json(text, flag)
    except NotJson:
        return text


def _read(path):
    path = Path(path)
    _require_file(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"config file {path} ends in {shown(path.suffix)}; expected .toml or .json.")
    values = reader(path)
    require(isinstance(values, dict), f"{path}: expected an object of settings, received {shown(values)}.")
    return values


def _require_file(path):
    if path.is_file():
        return
    others = [path.with_suffix(suffix) for suffix in _READERS] if path.name else []
    others.append(path / "config.json")  # of a run
    near = next((str(other) for other in others if other.is_file()), None) or _shipped_like(path)
    hint = f" Did you mean {near}?" if near else ""
    raise ValueError(
        f"config file {path} {path_problem(path)}; give the path of a TOML or JSON file.{hint} "
        "`kbert configs` shows those that come with kbert."
    )


def _shipped_like(path):
    """The config that comes with kbert and has nearly this name; None where none has."""
    shipped = {file.stem: file for file in configs_directory().rglob("*.toml")}
    near = nearest_name(path.stem, shipped, nearness=0.6)
    return FOLDER + "/" + shipped[near].relative_to(configs_directory()).as_posix() if near else None
