"""What one server accepts: sizes, waiting times, and how much at a time."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Limits:
    """The bounds of a server. Each request is checked before memory is taken for it.

    Attributes:
      max_message_bytes: size of one request, REST or gRPC.
      max_text_bytes: length of one text, in bytes of UTF-8.
      max_texts: texts of one request.
      max_elements: numbers of one tensor, as its shape declares them.
      max_batch_tokens: tokens that run together. A request with more runs in slices.
      max_answer_bytes: size of the tensors of one answer.
      max_connections: open REST connections.
      max_pending: requests that run or wait; more are refused at once (503, RESOURCE_EXHAUSTED).
      max_pending_bytes: size of the REST bodies of all of them together.
      head_seconds: how long a REST client may take to send the head of a request.
      body_seconds: how long it may take to send the body, and to read the answer.
      timeout_seconds: how long a request may wait and run.
      grace_seconds: how long running requests may go on when the server stops.
    """

    max_message_bytes: int = 8 << 20
    max_text_bytes: int = 64 << 10
    max_texts: int = 2048
    max_elements: int = 1 << 20
    max_batch_tokens: int = 8192
    max_answer_bytes: int = 64 << 20
    max_connections: int = 512
    max_pending: int = 128
    max_pending_bytes: int = 64 << 20
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    timeout_seconds: float = 30.0
    grace_seconds: float = 30.0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) <= 0 and field.name != "grace_seconds":
                raise ValueError(
                    f"{field.name}={getattr(self, field.name)} is not a limit; expected a number above 0."
                )

    @property
    def timeout(self) -> str:
        """The waiting time with its flag, for errors."""
        return f"the {self.timeout_seconds:g} s of --rest_api_timeout_in_ms"
