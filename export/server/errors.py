"""Errors of the REST port, in the form that the clients of each path know."""

import http
import json
import re

HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 413,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "CANCELLED": 503,
    "DEADLINE_EXCEEDED": 504,
}
_HEADERS = {401: [(b"www-authenticate", b"Bearer")], 503: [(b"retry-after", b"1")]}
_OPENAI = re.compile(r"/v1/(?!models/|endpoints/).*")
_COHERE = re.compile(r"/v2/rerank")
_TEXT_EMBEDDINGS_INFERENCE = re.compile(r"/(embed(_all|_sparse)?|predict|rerank|similarity|tokenize)?")


def error_body(status: int, message: str, path: str) -> dict:
    """An error as JSON. `error` is a sentence; below /v1, but for TensorFlow Serving's and Vertex AI's paths,
    it is OpenAI's object. text-embeddings-inference has an `error_type` beside it, and Cohere a `message`."""
    if _OPENAI.fullmatch(path):
        kind = http.HTTPStatus(status).phrase.lower().replace(" ", "_")
        return {"error": {"message": message, "type": kind, "param": None, "code": status}}
    if _COHERE.fullmatch(path):
        return {"message": message, "error": message}
    if _TEXT_EMBEDDINGS_INFERENCE.fullmatch(path):
        kind = "Overloaded" if status == 503 else "Validation" if status < 500 else "Backend"
        return {"error": message, "error_type": kind}
    return {"error": message}


async def send_error(send, status: int, message: str, path: str, close: bool = False) -> None:
    """Sends an error in the form that the clients of a path know."""
    body = json.dumps(error_body(status, message, path)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += [(b"connection", b"close")] * close + _HEADERS.get(status, [])
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
