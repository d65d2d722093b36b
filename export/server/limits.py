"""What one server accepts: sizes, waiting times, and how much at a time."""

import dataclasses
from typing import Annotated

from kbert.bounds import NO_FLAG, Bounds

_LARGEST = 2**31 - 1  # of the bytes of a message of gRPC; as seconds it is far within what threads can wait


@dataclasses.dataclass(frozen=True)
class Limits:
    """The bounds of a server. Each request is checked before memory is taken for it.

    Args:
      max_batch_tokens: most tokens of requests that run together; a larger request is split.
      max_message_bytes: most bytes of one request, REST or gRPC.
      max_text_bytes: most bytes of one text, in UTF-8.
      max_texts: most texts of one request.
      max_elements: most elements of one tensor of a request, as its shape declares them.
      max_answer_bytes: most bytes of the tensors of one response.
      max_connections: most open connections of REST.
      max_pending: most requests that run or wait; further ones get 503 or RESOURCE_EXHAUSTED at once.
      max_pending_bytes: most bytes of all REST requests together.
      grace_seconds: seconds that running requests may go on after SIGTERM.
      head_seconds: how long a REST client may take to send the head of a request.
      body_seconds: how long it may take to send the body, and to read the answer.
      timeout_seconds: how long a request may wait and run.

    Raises:
      ValueError: for a limit that is not above 0 or too large for gRPC or a clock, or one body that is above
        all together.
    """

    max_batch_tokens: int = 8192
    max_message_bytes: int = 8 << 20
    max_text_bytes: int = 64 << 10
    max_texts: int = 2048
    max_elements: int = 1 << 20
    max_answer_bytes: int = 64 << 20
    max_connections: int = 512
    max_pending: int = 128
    max_pending_bytes: int = 64 << 20
    grace_seconds: Annotated[float, Bounds(0)] = 30.0
    head_seconds: Annotated[float, NO_FLAG] = 10.0
    body_seconds: Annotated[float, NO_FLAG] = 30.0
    timeout_seconds: Annotated[float, NO_FLAG] = 30.0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value, is_grace = getattr(self, field.name), field.name == "grace_seconds"
            is_bounded = field.name == "max_message_bytes" or field.name.endswith("_seconds")
            # Not-a-number is neither.
            if not (value > 0 or (is_grace and value == 0)) or (is_bounded and value > _LARGEST):
                raise ValueError(
                    f"{field.name}={value} is not a limit; expected a number "
                    f"{'from' if is_grace else 'above'} 0{f' to {_LARGEST}' * is_bounded}."
                )
        if self.max_message_bytes > self.max_pending_bytes:
            raise ValueError(
                f"max_message_bytes={self.max_message_bytes} is above max_pending_bytes="
                f"{self.max_pending_bytes}, so that the largest REST bodies would always be refused; lower "
                "the one, or raise the other."
            )

    @property
    def timeout(self) -> str:
        """The waiting time with its flag, for errors."""
        return f"the {self.timeout_seconds:g} s of --rest_api_timeout_in_ms"
