"""Requests to a server under test: gRPC messages, REST bodies, and bytes on a bare socket."""

import http.client
import json
import socket
import time

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

MODEL = "length"
TEXTS = ["short", "a much longer text é"]


def request_of(texts=TEXTS, name=MODEL, signature_name="", version=None, dtype=tf.string):
    """A PredictRequest for texts."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature_name
    if version is not None:
        request.model_spec.version.value = version
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(texts, dtype))
    return request


class Asked:
    """Asks a REST port."""

    def __init__(self, port: int):
        self.port = port

    def whole(self, method, path, body=None, headers=()):
        """(status, headers, content)."""
        connection = http.client.HTTPConnection("localhost", self.port, timeout=120)
        content = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, content, dict(headers))
        response = connection.getresponse()
        answer = response.status, response.headers, response.read()
        connection.close()
        return answer

    def rest(self, method, path, body=None, headers=()):
        """(status, JSON of the answer)."""
        status, told, content = self.whole(method, path, body, headers)
        assert told["Content-Type"] == "application/json"
        return status, json.loads(content)

    def post(self, path, body):
        return self.rest("POST", path, body)

    def predict(self, body):
        return self.post(f"/v1/models/{MODEL}:predict", body)

    def raw(self, *parts):
        """All that the server sends to these bytes until it closes."""
        with socket.create_connection(("localhost", self.port), timeout=120) as connection:
            for part in parts:
                connection.sendall(part)
            return received(connection)


def received(connection) -> bytes:
    """All that comes until the other side closes, or nothing comes for the socket's timeout."""
    answer = b""
    try:
        while part := connection.recv(65536):
            answer += part
    except TimeoutError:
        return answer + b" (still open)"
    return answer


def post(body: bytes, more_headers: bytes = b"") -> bytes:
    """The bytes of a whole predict request."""
    head = f"POST /v1/models/{MODEL}:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + more_headers + b"\r\n" + body


def wait_until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
