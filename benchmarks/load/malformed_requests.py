"""Requests that no server may answer, and that must not disturb those that it may."""

import json
import socket

import grpc

from export.client.messages import PredictRequest
from export.client.tensors import to_proto

_STRING, _RESOURCE = 7, 20


def bodies() -> list[bytes]:
    """REST bodies, each wrong in its own way."""
    return [
        b"",
        b"{",
        b'{"instances": ["a"]} garbage',
        b'{"instances": ' + b"[" * 100_000,
        b'{"instances": [' + b"1" * 5000 + b"]}",
        b'{"instances": ["\xff\\ud800"]}',
        json.dumps({"instances": [1, 2]}).encode(),
        json.dumps({"instances": ["a"], "signature_name": "none"}).encode(),
        json.dumps({"instances": ["a" * 2_000_000]}).encode(),
    ]


def rest_heads(path: str) -> list[bytes]:
    """Bytes on a socket, each wrong in its own way; the last is only half a request."""
    start = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n".encode()
    return [
        b"\x16\x03\x01\x02\x00\x01\xfc\x03\x03",
        b"PUT /v1/models/a:predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        start + b"Content-Length: 99999999999999\r\n\r\n",
        start + b"Content-Length: -1\r\n\r\n",
        start + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        start + b"Content-Length: 100\r\n\r\n{",
    ]


def messages(model_name: str) -> list[PredictRequest]:
    """gRPC messages, each wrong in its own way."""
    made = []
    for sizes, dtype in (([100_000_000], _STRING), ([10**12], _STRING), ([1], _RESOURCE), ([-1], _STRING)):
        request = PredictRequest()
        request.model_spec.name = model_name
        tensor = to_proto(["a"])
        tensor.dtype = dtype
        del tensor.tensor_shape.dim[:]
        for size in sizes:
            tensor.tensor_shape.dim.add(size=size)
        request.inputs["text"].CopyFrom(tensor)
        made.append(request)
    return made


def send_all(grpc_address: str, rest_address: str, model_name: str) -> list[str]:
    """Sends each once, and returns what was not refused as it should be."""
    host, port = rest_address.split(":")
    path, faults = f"/v1/models/{model_name}:predict", []
    for body in bodies():
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        status = _status(host, int(port), head + body)
        if status not in (400, 413, 503):
            faults.append(f"{status} for the body {body[:60]!r}")
    for head in rest_heads(path)[:-1]:
        status = _status(host, int(port), head)
        if status not in (400, 413, 503):
            faults.append(f"{status} for {head[:60]!r}")
    try:
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(rest_heads(path)[-1])  # and goes away
    except OSError as error:
        faults.append(f"{type(error).__name__} for half a request")
    return faults + _grpc_faults(grpc_address, model_name)


def _grpc_faults(address: str, model_name: str) -> list[str]:
    faults = []
    with grpc.insecure_channel(address) as channel:
        predict = channel.unary_unary(
            "/tensorflow.serving.PredictionService/Predict",
            request_serializer=PredictRequest.SerializeToString,
        )
        for message in messages(model_name):
            try:
                predict(message, timeout=10)
                faults.append(f"an answer for {message.inputs['text'].tensor_shape}")
            except grpc.RpcError as error:
                if error.code().name not in ("INVALID_ARGUMENT", "UNAVAILABLE"):
                    faults.append(f"{error.code().name} for {message.inputs['text'].tensor_shape}")
    return faults


def _status(host: str, port: int, sent: bytes) -> int | str:
    try:
        with socket.create_connection((host, port), timeout=10) as connection:
            connection.sendall(sent)
            return int(connection.recv(4096).split(b" ", 2)[1])
    except (OSError, IndexError, ValueError) as error:
        return f"{type(error).__name__}"
