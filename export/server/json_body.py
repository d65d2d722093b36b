"""The body of a request as a JSON object: UTF-8, every key once."""

import collections
import json

from .request import invalid


def parse_object(body: bytes) -> dict:
    """The JSON object of a body; a byte order mark before it is skipped.

    Raises:
      RequestError: it is no such object, or one of its objects has a key twice, so that a value is lost.
    """
    try:
        document = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise invalid(f"The body is not UTF-8: byte {error.start}.") from None
    except RecursionError:
        raise invalid("The body is nested too deeply.") from None
    except _Twice as error:
        raise invalid(f"The body has the key {shown(error.key)} twice in one object; send it once.") from None
    except ValueError as error:  # no JSON, or a number of thousands of digits
        raise invalid(f"The body is no JSON: {error}"[:300]) from None
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


class _Twice(Exception):
    def __init__(self, key: str):
        super().__init__(key)
        self.key = key


def _object(pairs: list[tuple]) -> dict:
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = collections.Counter(name for name, _ in pairs)
        raise _Twice(counts.most_common(1)[0][0])
    return made
