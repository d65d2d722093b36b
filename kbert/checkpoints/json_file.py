"""A checkpoint folder's JSON files: read with a sentence for what is wrong."""

import json
from pathlib import Path


def read_json_object(path: Path) -> dict:
    """The object in a JSON file. Raises ValueError when it is missing, broken or no object."""
    try:
        values = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist; a checkpoint needs it.") from None
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object, received {type(values).__name__}.")
    return values
