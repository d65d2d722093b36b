"""Whatever bytes a client sends, it gets one answer in JSON, and other clients are not disturbed."""

import json
import socket

import pytest

from tests.export.server.asking import MODEL, post, received

PREDICT = f"/v1/models/{MODEL}:predict"
GOOD = post(json.dumps({"instances": ["short"]}).encode())
# The server closes after this one: nobody needs to wait until it is silent.
GOOD_AND_LAST = post(json.dumps({"instances": ["short"]}).encode(), more_headers=b"Connection: close\r\n")


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8501", "127.0.0.1.evil.example"])
def test_a_page_that_resolved_its_name_to_this_machine_is_refused(asked, host):
    for request in (
        f"GET /v1/models/{MODEL} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode(),
        GOOD.replace(b"Host: localhost", f"Host: {host}".encode()),
        f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode(),
    ):
        answer = asked.raw(request, GOOD_AND_LAST)
        assert status_of(answer) == 403 and b"--allowed_hosts" in answer
        assert answer.count(b"HTTP/1.1 200") == 1  # the next request, by the right name


@pytest.mark.parametrize("length", ["1048577", "10000000000000", "9" * 30])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(asked, length):
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()
    answer = asked.raw(head)
    assert status_of(answer) in (413, 400) and b'"error"' in answer
    assert not answer.endswith(b"(still open)")


@pytest.mark.parametrize(
    "sent",
    [b"GET", b"POST /v1 HTTP/1.1\r\nHost: localhost\r\nX: ", b"", post(b"x" * 100)[:-50]],
    ids=["line", "head", "nothing", "body"],
)
def test_half_a_request_is_given_up(asked, sent):
    answer = asked.raw(sent)
    assert status_of(answer) == 408 and not answer.endswith(b"(still open)")


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
)
def test_what_is_not_http_is_answered_with_400(asked, sent):
    answer = asked.raw(sent)
    assert status_of(answer) == 400 and b'{\n "error"' in answer


def test_an_endless_head_is_refused(asked):
    with socket.create_connection(("localhost", asked.port), timeout=120) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        try:
            for _ in range(100):
                connection.sendall(b"X: " + b"y" * 10_000 + b"\r\n")
            answer = received(connection)
        except (ConnectionResetError, BrokenPipeError):
            return
    assert status_of(answer) == 431
