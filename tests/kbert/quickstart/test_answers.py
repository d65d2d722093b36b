"""The quickstart's server answers it also where all else goes through a proxy."""

from concurrent.futures import ThreadPoolExecutor

import grpc

from kbert.quickstart.answers import _channel


def test_a_proxy_does_not_stand_between_the_quickstart_and_its_server(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # where nobody answers
    monkeypatch.delenv("no_proxy", raising=False)
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("localhost:0")
    server.start()
    try:
        with _channel(port) as channel:
            grpc.channel_ready_future(channel).result(20)
    finally:
        server.stop(None)
