"""Whatever bytes a client sends, it gets one answer in JSON, and other clients are not disturbed."""

import contextlib
import json
import socket
import time

import pytest

from export.gate.saved_model_session import RequestError
from export.server import connection as connection_module
from export.server.gate import Gate
from export.server.limits import Limits
from export.server.metrics import Metrics
from export.server.running import DevelopmentServer
from tests.export.conftest import LIMITS
from tests.export.server.asking import MODEL, Asked, post, received, wait_until

PREDICT = f"/v1/models/{MODEL}:predict"
GOOD = post(json.dumps({"instances": ["short"]}).encode())
# The server closes after this one: nobody needs to wait until it is silent.
GOOD_AND_LAST = post(json.dumps({"instances": ["short"]}).encode(), b"Connection: close\r\n")


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "[::1].evil.com", "localhost:1@evil.com", "a/localhost"],
)
def test_a_page_that_resolved_its_name_to_this_machine_is_refused(asked, host):
    named = GOOD.replace(b"Host: localhost", f"Host: {host}".encode())
    for request in (named, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()):
        answer = asked.raw(request, GOOD_AND_LAST)
        assert status_of(answer) == 403 and b"--allowed_hosts" in answer
        assert answer.count(b"HTTP/1.1 200") == 1  # the next request, by the right name


@pytest.mark.parametrize("path", ["/embed", "/embed_all", "/embed_sparse", "/predict", "/"])
def test_errors_of_text_embeddings_inferences_paths_have_its_type(asked, path):
    status, answer = asked.post(path, {"no_field": 1})
    assert status == 400 and answer["error_type"] == "Validation"


def test_its_own_names_and_those_allowed_may_ask():
    gate = Gate(None, Limits(), Metrics(), "127.0.0.1", ["Proxy.example"])
    for host in ("localhost", "127.0.0.1:8501", "[::1]:8501", "192.168.0.4", "proxy.example:80", ""):
        gate._check_host(host)
    Gate(None, Limits(), Metrics(), "0.0.0.0")._check_host("any.example")


def test_allowed_names_hold_on_every_address():
    """Health is asked by address, of a container by its load balancer."""
    gate = Gate(None, Limits(), Metrics(), "0.0.0.0", ["api.example"])
    for host in ("localhost:8501", "10.0.0.7:8080", "[fd00::1]", "api.example", ""):
        gate._check_host(host)
    with pytest.raises(RequestError, match="asked by the name 'any.example'.*--allowed_hosts"):
        gate._check_host("any.example")


@pytest.mark.parametrize("name", ["https://api.example", "api.example:8501", "*", "*.example", ""])
def test_an_allowed_host_that_no_request_names_is_refused(asked_model_dir, name):
    with pytest.raises(ValueError, match="allowed_hosts=.*expected a name such as api.example"):
        DevelopmentServer(asked_model_dir, MODEL, 0, 0, allowed_hosts=(name,))


def test_requests_that_follow_at_once_are_answered_in_order(asked):
    other = post(json.dumps({"instances": ["x" * 30]}).encode())
    answer = asked.raw(GOOD + other + GOOD_AND_LAST)
    labels = [part[:4] for part in answer.split(b'"label": "')[1:]]
    assert labels == [b"shor", b"long", b"shor"]


def work(times: int) -> bytes:
    return post(json.dumps({"signature_name": "work", "instances": [str(times)]}).encode())


def waiting(end) -> bytes:
    """A request that is answered when there is this file."""
    return post(json.dumps({"signature_name": "wait", "instances": [str(end)]}).encode())


def statuses_of(answers: bytes) -> list[int]:
    return [status_of(b"HTTP/1.1 " + answer) for answer in answers.split(b"HTTP/1.1 ")[1:]]


def test_of_too_many_requests_that_follow_at_once_the_first_are_answered(asked):
    answers = asked.raw(GOOD * 20 + GOOD_AND_LAST)
    assert statuses_of(answers) == [200] * 9 + [400] and b"Over 8 requests wait" in answers


@pytest.mark.parametrize(
    ("behind", "status"),
    [
        (b"\x00\x01\r\n\r\n", 400),
        (GOOD[:30], 408),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * (1 << 19), 431),
        (GOOD[:-40].replace(b"Content-Length: ", b"Transfer-Encoding: chunked\r\nX: ") + b"?", 400),
    ],
    ids=["nonsense", "half a head", "a long head", "a body of no chunks"],
)
@pytest.mark.parametrize("before", [1, 3])
def test_what_cannot_be_read_is_refused_behind_the_answers_before_it(asked, before, behind, status):
    answers = asked.raw(work(100) * before + behind)
    assert statuses_of(answers) == [200] * before + [status] and answers.count(b"predictions") == before


def test_the_rest_of_a_head_that_waits_behind_requests_is_not_late(asked, tmp_path):
    """Nobody reads it before the first request is answered."""
    with socket.create_connection(("localhost", asked.port), timeout=120) as connection:
        connection.sendall(waiting(tmp_path / "end") + GOOD + GOOD_AND_LAST[:30])
        connection.sendall(GOOD_AND_LAST[30:])
        time.sleep(LIMITS.head_seconds + 0.1)
        (tmp_path / "end").touch()
        assert statuses_of(received(connection)) == [200] * 3


def test_an_idle_connection_outlives_those_of_google_clouds_load_balancers(server):
    """They send a request into one that was idle for 600 s; of one that is being closed they answer 502."""
    assert server._rest.config.timeout_keep_alive > 600


def test_an_idle_connection_gives_way_to_a_new_one(asked_model_dir, tmp_path):
    """The one that has waited longest; one at work stays."""
    end = tmp_path / "end"
    with (
        DevelopmentServer(asked_model_dir, MODEL, 0, 0, limits=Limits(max_connections=2)) as server,
        contextlib.ExitStack() as stack,
    ):
        port = server.rest_api_port

        def connection(sent):
            made = stack.enter_context(socket.create_connection(("localhost", port), timeout=120))
            made.sendall(sent)
            return made

        first = connection(GOOD)
        assert status_of(first.recv(65536)) == 200
        second = connection(waiting(end))
        wait_until((tmp_path / "end.runs").exists)
        third = connection(waiting(end))
        assert not received(first).endswith(b"(still open)")
        wait_until(lambda: server.service.queue.length > 0)
        assert status_of(Asked(port).raw()) == 503
        end.touch()
        assert [status_of(one.recv(65536)) for one in (second, third)] == [200, 200]
        assert Asked(port).predict({"instances": ["short"]})[0] == 200
        # Both were answered at once, so either has waited longest.
        assert not all(received(one).endswith(b"(still open)") for one in (second, third))


@pytest.mark.parametrize(
    ("sent", "later"),
    [(GOOD, b"\r\n"), (GOOD.replace(b"localhost", b"evil.example")[:-5], GOOD[-5:])],
    ids=["a line end", "the body of what was refused"],
)
def test_an_idle_connection_is_closed_whatever_came_last(asked, server, monkeypatch, sent, later):
    monkeypatch.setattr(server._rest.config, "timeout_keep_alive", 0.3)
    with socket.create_connection(("localhost", asked.port), timeout=10) as connection:
        connection.sendall(sent)
        assert connection.recv(65536)
        time.sleep(0.05)
        connection.sendall(later)
        assert not received(connection).endswith(b"(still open)")


def test_an_answer_that_nobody_reads_is_given_up_though_more_is_asked(asked, server):
    connections = server._rest.server_state.connections
    large = {"signature_name": "repeat", "inputs": {"text": ["x" * 10_000], "top_k": 1000}}
    with socket.create_connection(("localhost", asked.port)) as connection:
        connection.sendall(post(json.dumps(large).encode()))
        wait_until(lambda: any(each.cycle and each.cycle.response_complete for each in list(connections)))
        connection.sendall(GOOD)
        wait_until(lambda: not connections, 10)


@pytest.mark.parametrize("offered", [b"h2c", b"websocket", b"TLS/1.2"])
@pytest.mark.parametrize(
    ("body", "status"),
    [(b'{"instances": ["short"]}', 200), (GOOD, 400)],
    ids=["a request", "one that looks like the next"],
)
def test_a_request_that_offers_another_protocol_keeps_its_body(asked, offered, body, status):
    """RFC 9110, 7.8: who does not switch goes on in HTTP/1.1. Java's client offers h2c to everybody."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: %s\r\nHTTP2-Settings: AAE\r\n" % offered
    head = post(body, offer)[: -len(body)]
    chunked = head.replace(b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked")
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    last = post(body, offer.replace(b"Connection: ", b"Connection: close, "))
    ways = ([head + body], [head, body], [head[:-9], head[-9:] + body[:9], body[9:]], [chunked + chunks])
    for sent in (*ways, [chunked, chunks], [head + body + GOOD + last]):
        with socket.create_connection(("localhost", asked.port), timeout=120) as connection:
            for part in sent:
                connection.sendall(part)
                time.sleep(0.02)  # a packet of its own
            if len(sent) > 1 or last not in sent[0]:
                connection.sendall(GOOD + last)
            answers = received(connection).split(b"HTTP/1.1 ")[1:]
        assert [int(answer[:3]) for answer in answers] == [status, 200, status], sent


def test_no_tunnel_is_given(asked):
    """What follows would be for its other end, and is no request."""
    answer = asked.raw(GOOD.replace(b"POST", b"CONNECT") + GOOD_AND_LAST)
    assert status_of(answer) == 400 and answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize("length", ["1048577", "10000000000000", "9" * 30])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(asked, length):
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()
    answer = asked.raw(head)
    assert status_of(answer) in (413, 400) and b'"error"' in answer
    assert not answer.endswith(b"(still open)")


def test_a_body_that_grows_too_large_is_refused(asked):
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with socket.create_connection(("localhost", asked.port), timeout=120) as connection:
        connection.sendall(head)
        for _ in range(40):
            connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        assert status_of(received(connection)) == 413


def test_a_client_that_sends_a_whole_body_before_it_reads_learns_why_it_is_refused(asked):
    """RFC 9112, 9.6: bytes that nobody reads would reset the connection, and the answer be lost."""
    status, answer = asked.rest("POST", PREDICT, b" " * (30 << 20))
    assert status == 413 and "--max_message_bytes" in answer["error"]
    answer = asked.raw(b"GET / HTTP/1.1\r\nX: " + b"x" * (8 << 20))
    assert status_of(answer) == 431


def test_who_sends_without_end_after_the_last_answer_is_cut_off(asked, monkeypatch):
    monkeypatch.setattr(connection_module, "_MAX_UNREAD_BYTES", 1 << 20)
    with (
        socket.create_connection(("localhost", asked.port), timeout=120) as connection,
        pytest.raises(OSError, match="reset|pipe"),
    ):
        connection.sendall(b"nonsense\r\n\r\n" + b" " * (64 << 20))


def test_who_stays_after_the_last_answer_is_cut_off(asked):
    """Also where two things were wrong with what came."""
    with socket.create_connection(("localhost", asked.port), timeout=120) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\nbad header\r\n\r\n")
        assert status_of(received(connection)) == 400
        with pytest.raises(OSError, match="reset|pipe"):
            for _ in range(100):
                time.sleep(0.1)
                connection.sendall(b" ")


@pytest.mark.long
def test_half_a_head_does_not_hold_up_a_stop(e5_folder):
    with DevelopmentServer(e5_folder, None, 0, 0) as server:
        connection = socket.create_connection(("localhost", server.rest_api_port), timeout=120)
        connection.sendall(b"GET / HTT")
        Asked(server.rest_api_port).rest("GET", "/v1/models")
        begin = time.monotonic()
    assert time.monotonic() - begin < 5
    connection.close()


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
    assert status_of(answer) == 400 and b'{"error"' in answer


def test_nobody_runs_a_request_whose_client_has_gone(asked, server, monkeypatch, tmp_path):
    """The first runs already; those that wait behind it do not."""
    session, signatures, queue = server.service.queue._session, [], server.service.queue
    run = session.run

    def noted(signature, *arguments):
        signatures.append(signature)
        return run(signature, *arguments)

    monkeypatch.setattr(session, "run", noted)
    end = tmp_path / "end"
    for signature, text in (("wait", str(end)), ("work", "1"), ("letters", "a")):
        waiting = queue.length
        with socket.create_connection(("localhost", asked.port)) as connection:
            connection.sendall(post(json.dumps({"signature_name": signature, "instances": [text]}).encode()))
            runs = tmp_path / "end.runs"
            wait_until(runs.exists if signature == "wait" else lambda waiting=waiting: queue.length > waiting)
    wait_until(lambda: not server._rest.server_state.connections)
    end.touch()
    assert asked.predict({"instances": ["short"]})[0] == 200
    assert signatures == ["wait", "serving_default"]
