"""Why a request failed, in one sentence that says what to do."""

import numpy as np

UNAVAILABLE, DEADLINE_EXCEEDED = "UNAVAILABLE", "DEADLINE_EXCEEDED"
NOT_TF_SERVING = "NOT_TF_SERVING"  # no code of gRPC: something else listens there
_PORTS = "TF Serving listens for gRPC on port 8500 and for REST on port 8501."


class RequestFailed(Exception):
    """A request that the server did not answer, as a transport met it.

    Args:
        status: the name of gRPC's status code, `HTTP 401` for one of HTTP that has none, or `NOT_TF_SERVING`.
        details: the server's words, or the system's.
        answered: whether a server said so; False where nobody was reached.
    """

    def __init__(self, status: str, details: str, answered: bool = True):
        super().__init__(details)
        self.status = status
        self.details = (details or "").strip().rstrip(".")
        self.answered = answered


def mendable(failure: RequestFailed, server: str, api: str, model_name: str, asked: str) -> Exception:
    """Returns the error to raise: `ConnectionError`, `TimeoutError` or `ValueError`.

    Args:
        failure: what happened.
        server: `host:port`.
        api: gRPC or REST.
        model_name: the model that was asked.
        asked: what the request held.
    """
    details = failure.details
    if failure.status == UNAVAILABLE and failure.answered:
        return ConnectionError(f"The server at {server} takes no more requests ({details}). Try again later.")
    if failure.status == UNAVAILABLE:
        return ConnectionError(
            f"No server answers over {api} at {server} ({details}). Start one (kbert serve --help); if it "
            f"was started just now, wait for its line 'serving ...'; or correct --server and --api: {_PORTS}"
        )
    if failure.status == NOT_TF_SERVING:
        return ConnectionError(
            f"What answers over {api} at {server} is no TensorFlow Serving ({details}). "
            f"Correct --server and --api: {_PORTS}"
        )
    if failure.status == DEADLINE_EXCEEDED:
        return TimeoutError(
            f"The server at {server} gave no answer over {api} in time. "
            "Wait longer (--timeout_seconds), or send fewer texts at once (--batch_size)."
        )
    if failure.status == "NOT_FOUND" and "Specific(" in details:  # a version was asked for
        return ValueError(
            f"The server at {server} has no such version of model {model_name!r} ({details}). "
            f"Ask for one that GET /v1/models/{model_name} lists on its REST port, or for none: the newest "
            "answers then."
        )
    if failure.status == "NOT_FOUND" and "ervable" in details:
        return ValueError(
            f"The server at {server} has no model named {model_name!r} ({details}). "
            "Pass the name it was started with as --model_name."
        )
    return ValueError(
        f"The server at {server} refuses a request to model {model_name!r}: {details or failure.status}. "
        f"It asked {asked}."
    )


def described(signature_name: str, inputs: dict[str, np.ndarray]) -> str:
    """Says what a request held: signature, names, dtypes and shapes."""
    sent = ", ".join(f"{name} {array.dtype} {list(array.shape)}" for name, array in sorted(inputs.items()))
    return f"signature {signature_name!r} with {sent}"
