"""The body of a request as a JSON object: UTF-8, every key once."""

import json

from kbert.files.json_file import parse_json

from .request import invalid


def parse_object(body: bytes) -> dict:
    """The JSON object of a body; a byte order mark before it is skipped.

    Raises:
      RequestError: it is no such object, or one of its objects has a key twice, so that a value is lost.
    """
    try:
        document = parse_json(body, "The body")
    except ValueError as error:
        raise invalid(str(error)[:300]) from None
    if not isinstance(document, dict):
        raise invalid("The body must be an object.")
    return document


def shown(value) -> str:
    """A value for an error: as JSON has it, shortened."""
    if isinstance(value, list | dict):
        kind, unit = ("a list", "element") if isinstance(value, list) else ("an object", "key")
        return f"{kind} of {len(value)} {unit}{'' if len(value) == 1 else 's'}"
    text = json.dumps(value[:60] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}..."
