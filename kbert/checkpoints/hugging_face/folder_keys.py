"""What the readers ask of each file of a folder: whether kbert knows its keys, and follows their values.

A key is followed; or it changes no answer; or the folder is refused where the key has a value that would
change answers, unless `allow_unmatched` names the key. A key that is not in the table (key_table.py) is named
in a warning. The site's page of keys is written from the table.
"""

from kbert.checkpoints.hugging_face.families import FAMILIES
from kbert.checkpoints.hugging_face.key_table import (
    FOLDER_KEYS,
    KEYS_OF_FAMILIES,
    Key,
    Use,
    followed,
)
from kbert.checkpoints.report import Report
from kbert.files.json_values import first_few, shown, shown_name

_EMPTY = (None, {}, [], "")


def config_keys(model_type: str) -> dict[str, Key]:
    """The keys of a family's `config.json`, without those that every family has."""
    family = FAMILIES[model_type]
    settings = " ".join((*family.keys.values(), *family.second_names))
    return followed(settings, "a setting of the encoder") | KEYS_OF_FAMILIES.get(model_type, {})


def check_keys(file: str, values: dict, path, report: Report, model_type: str | None = None):
    """Refuses what would change answers, and names keys that are not in the table.

    Args:
      file: a key of `FOLDER_KEYS`.
      values: the object of the file.
      path: where it lies, for messages.
      report: takes notes, and knows what is allowed.
      model_type: for `config.json`, a key of `FAMILIES`.

    Raises:
      ValueError: for a key with a value that kbert does not follow.
    """
    keys = FOLDER_KEYS[file] | (config_keys(model_type) if model_type else {})
    for name in values.keys() & keys.keys():
        key, value = keys[name], values[name]
        if key.use is Use.REFUSED and not _is_harmless(value, key):
            sentence = f"{path}: {name}={_shown(value)}, but {key.about}"
            if key.always:
                raise ValueError(f"{sentence}.")
            report.conflict(name, sentence)
    unknown = sorted(values.keys() - keys.keys())
    if unknown:
        names = first_few([*map(shown_name, unknown)], 8)
        report.warn(
            f"{path}: kbert does not know {names}, and does not follow it",
            "; if it changes answers, these are not the model's",
        )


def _is_harmless(value, key):
    # {"adapters": {}, "fusions": {}} is AdapterHub's for none.
    if value in _EMPTY or (isinstance(value, dict) and all(inner in _EMPTY for inner in value.values())):
        return True
    value = value.get("content") if isinstance(value, dict) and "content" in value else value
    return any(type(value) is type(harmless) and value == harmless for harmless in key.harmless)


def _shown(value):
    """A value as JSON writes it where that is a word; Python's names are none of the file's."""
    return str(value).lower() if isinstance(value, bool) else shown(value)
