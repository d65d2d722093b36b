"""Single settings changed from the command line: `--override=path.to.field=value`."""

from typing import Any

from kbert.config.checks import require
from kbert.files.json_file import NotJson, parse_json
from kbert.files.json_values import shown


def apply_override(values: dict, override: str):
    """Changes one setting in the values of a config file.

    Args:
      values: the values, changed in place. Objects on the way to the setting are made where they are missing.
      override: such as `optimizer.learning_rate=3e-5` or `phases.0.num_train_steps=100`.

    Raises:
      ValueError: when it has another form, or names something that holds no settings.
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
            require(known, f"{flag}: there is no {shown(parent)} in a list of {len(values)}.")
            child = values[int(parent)]
        else:
            child = values.setdefault(parent, {})
        if isinstance(child, str):  # an encoder preset: keep it and change one of its keys
            child = values[parent] = {"preset": child}
        require(isinstance(child, dict | list), f"{flag}: {shown(parent)} holds no settings.")
        values = child
    require(isinstance(values, dict), f"{flag} must name a setting, not a list's entry.")
    values[leaf] = _override_value(text, flag)


def _override_value(text, flag):
    """The JSON value of a text, or the text itself, so that words need no quotes."""
    try:
        return parse_json(text, flag)
    except NotJson:
        return text
