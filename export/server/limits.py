"""What one server accepts: sizes, waiting times, and how much at a time."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Limits:
    """The bounds of a server. Each request is checked before memory is taken for it.

    Attributes:
        max_message_bytes: size of one request, gRPC or REST.
        max_text_bytes: length of one string of a tensor, in bytes of UTF-8.
        max_elements: number of values of one tensor, as its shape declares them.
        max_connections: open connections of each API.
        max_pending: requests that run or wait, of both APIs together; more are shed (UNAVAILABLE, 503).
        max_pending_bytes: size of all of them together; a request that is alone may be larger.
        head_seconds: how long a REST client may take to send the head of a request.
        body_seconds: how long it may take to send the body, and to read the answer.
        rest_timeout_seconds: how long a REST request may run. gRPC requests bring their own deadline.
        grace_seconds: how long running requests may go on when the server stops.
    """

    max_message_bytes: int = 32 << 20
    max_text_bytes: int = 1 << 20
    max_elements: int = 1 << 22
    max_connections: int = 512
    max_pending: int = 128
    max_pending_bytes: int = 256 << 20
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    rest_timeout_seconds: float = 30.0
    grace_seconds: float = 30.0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) <= 0 and field.name != "grace_seconds":
                raise ValueError(
                    f"{field.name}={getattr(self, field.name)} is not a limit; expected a number above 0."
                )
