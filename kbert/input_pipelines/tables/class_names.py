"""The names of classes that `datasets` keeps beside integers, in the metadata of an Arrow schema."""

from kbert.files.json_file import parse_json

_KEY = b"huggingface"
NO_CLASS = -1  # what `datasets` writes where a row has no label, as in GLUE's test files


def class_names(metadata, file) -> dict[str, tuple[str, ...]]:
    """The columns of integers that stand for classes, and the names of these.

    Args:
      metadata: of the schema: bytes -> bytes, or None. Under `huggingface` it holds the JSON of the features;
        those of the type `ClassLabel` have `names`, a column of lists has them in its `feature`.
      file: for messages.

    Returns:
      Column -> the names in their order: class 0 has the first.

    Raises:
      ValueError: naming the file, when what stands under `huggingface` cannot be read.

    Source: `Features.arrow_schema` in Hugging Face's `datasets`, src/datasets/features/features.py.
    """
    if _KEY not in (metadata or {}):
        return {}
    place = f"{file}: the features in its schema"
    value = parse_json(metadata[_KEY].decode("utf-8", "replace"), place)
    features = ((value.get("info") or {}) if isinstance(value, dict) else {}).get("features") or {}
    if not isinstance(features, dict):
        raise ValueError(f"{place} are {str(features)[:200]}; expected an object of columns.")
    found = {column: _names_of(feature) for column, feature in features.items()}
    return {column: names for column, names in found.items() if names}


def _names_of(feature):
    """The names of a feature, or of what its lists hold; None where there are none."""
    if isinstance(feature, list) and len(feature) == 1:  # how lists were written once
        return _names_of(feature[0])
    if not isinstance(feature, dict):
        return None
    if feature.get("_type") == "ClassLabel":
        return tuple(map(str, feature.get("names") or ()))
    return _names_of(feature.get("feature"))


def named(value, names: tuple[str, ...], place: str):
    """The name of a class, or of each in a list; None where there is no class.

    Raises:
      ValueError: naming `place`, for a number that has no name.
    """
    if isinstance(value, list):
        return [named(one, names, place) for one in value]
    if value is None or value == NO_CLASS:
        return None
    if not 0 <= value < len(names):
        raise ValueError(f"{place} has the class {value}, but the schema names {len(names)}, from 0 on.")
    return names[value]
