"""What answers over REST may be no TensorFlow Serving: a proxy in front of it, or another server."""

import contextlib
import http.server
import threading

import numpy as np
import pytest

from export.client.serving_client import ServingClient

PAGE = b"<html>\n<h1>Sign in first</h1></html>"


@contextlib.contextmanager
def stranger(status, body):
    """A client of a server that answers everything alike, and the paths that it was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *unused):
            pass

    with http.server.ThreadingHTTPServer(("localhost", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            address = f"localhost:{server.server_address[1]}"
            with ServingClient(address, "m", "rest", max_attempts=3) as client:
                yield client, asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [401, 404, 413, 502])
def test_a_refusal_without_json_is_told_at_once(status):
    with stranger(status, PAGE) as (client, asked):
        with pytest.raises(
            ValueError, match=f"refuses .* HTTP {status}: <html> <h1>Sign in first</h1></html>"
        ):
            client.predict({"text": np.array(["a"])})
        assert len(asked) == 1


def test_a_busy_proxy_is_asked_again():
    with stranger(503, b"") as (client, asked):
        with pytest.raises(ConnectionError, match="takes no more requests .HTTP 503: no body."):
            client.predict({"text": np.array(["a"])})
        assert len(asked) == 3


@pytest.mark.parametrize("body", [PAGE, b"[1]", b'{"status": "fine"}', b"[" * 100_000])
def test_an_answer_of_another_server_is_told(body):
    with stranger(200, body) as (client, asked):
        with pytest.raises(ConnectionError, match="is no TensorFlow Serving .received HTTP 200 with .*--api"):
            client.predict({"text": np.array(["a"])})
        assert len(asked) == 1
