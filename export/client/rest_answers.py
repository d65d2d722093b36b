"""What came back over REST: the part of its JSON that was asked for, or why the request failed."""

import json

from .failures import DEADLINE_EXCEEDED, NOT_TF_SERVING, UNAVAILABLE, RequestFailed

_STATUSES = {
    400: "INVALID_ARGUMENT",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    501: "UNIMPLEMENTED",
    503: UNAVAILABLE,
    504: DEADLINE_EXCEEDED,
}
_SHOWN_CHARACTERS = 120


def part_of_answer(status: int, body: bytes, name: str):
    """Returns what stands under `name` in the JSON of an answer.

    The status counts before the body: a proxy in front of the server refuses with pages of its own.

    Args:
        status: of HTTP.
        body: as it came.
        name: "outputs" or "metadata".

    Raises:
        RequestFailed: a status other than 200; or a body that TensorFlow Serving does not send with 200.
    """
    answer = _object_in(body)
    if status != 200:
        details = str(answer.get("error") or f"HTTP {status}: {_beginning(body)}")
        raise RequestFailed(_STATUSES.get(status, f"HTTP {status}"), details)
    if name not in answer:
        raise RequestFailed(
            NOT_TF_SERVING, f"received HTTP 200 with {_beginning(body)}; expected JSON with {name!r}"
        )
    return answer[name]


def _object_in(body: bytes) -> dict:
    """The JSON object that a body is; an empty one for any other body."""
    try:
        answer = json.loads(body.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _beginning(body: bytes) -> str:
    text = " ".join(body.decode("utf-8", "replace").split())
    return text[:_SHOWN_CHARACTERS] + " [...]" * (len(text) > _SHOWN_CHARACTERS) if text else "no body"
