"""Changes single settings from the command line: `--override=path.to.field=value`."""

from typing import Any

from kbert.config.checks import require
from kbert.files.json_file import NotJson, parse_json
from kbert.files.json_values import shown


def apply_override(values: dict, override: str):
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
    values[leaf] = _override_value(text, flag)


def _override_value(text, flag):
    """The JSON value of a text, or the text itself, so that words need no quotes."""
    try:
        return parse_json(text, flag)
    except NotJson:
        return text
