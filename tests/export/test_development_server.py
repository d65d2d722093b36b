"""The development server as a class and as a process: what it refuses to start with, and how it ends."""

import pathlib
import re
import signal
import threading
import urllib.request

import grpc
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from export.server.running import DevelopmentServer
from tests import warm_processes
from tests.export.server.asking import MODEL, Asked, request_of, wait_until


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.rmdir(), "is not a folder; expected a folder that holds one"),
        (lambda path: None, "holds no version; found nothing, expected a folder named by an"),
        (lambda path: (path / ("9" * 20)).mkdir(), "holds no version; found 9"),
        (lambda path: (path / "saved_model.pb").touch(), "is itself a SavedModel; .*Pass "),
        (lambda path: (path / "1").mkdir(), "length cannot be served: version 1: .*Export"),
    ],
)
def test_unusable_base_path_is_refused_before_serving(tmp_path, make, message):
    folder = tmp_path / "base"
    folder.mkdir()
    make(folder)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        DevelopmentServer(str(folder), MODEL, 0, 0)


def test_taken_and_impossible_ports_are_named(asked_model_dir):
    base_path = str(pathlib.Path(asked_model_dir).parent)
    with DevelopmentServer(base_path, MODEL, 0, 0) as server:
        taken = server.rest_api_port
        with pytest.raises(ValueError, match=f"rest_api_port={taken} cannot be opened"):
            DevelopmentServer(base_path, MODEL, 0, taken)
        with pytest.raises(ValueError, match=f"port={server.port} cannot be opened for gRPC"):
            DevelopmentServer(base_path, MODEL, server.port, 0)
    with pytest.raises(ValueError, match="port=99999 cannot be opened for gRPC .* must be 0-65535"):
        DevelopmentServer(base_path, MODEL, 99999, 0)
    with pytest.raises(ValueError, match="rest_api_port=99999 cannot be opened"):
        DevelopmentServer(base_path, MODEL, 0, 99999)


@pytest.mark.slow
def test_a_process_that_loads_can_be_stopped():
    process = warm_processes.WarmProcess("tests.export.server.endless_loading")
    try:
        wait_until(lambda: process.lines()[-1:] == ["loading"])
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 143
    assert errors.endswith("stopped by SIGTERM while the models were loading\n") and "Traceback" not in errors


@pytest.mark.slow
def test_sigterm_lets_running_requests_end(asked_model_dir):
    base_path = str(pathlib.Path(asked_model_dir).parent)
    process = warm_processes.WarmProcess(
        "export.development_server", "--port=0", "--rest_api_port=0", f"--model_base_path={base_path}",
        f"--model_name={MODEL}", "--enable_batching",
    )  # fmt: skip
    try:
        wait_until(lambda: len(process.lines()) == 5)
        lines = process.lines()
        ports = re.search(r"gRPC localhost:(\d+), REST http://localhost:(\d+)", lines[3])
        port, rest_api_port = map(int, ports.groups())
        assert "development server" in lines[0]
        asked = Asked(rest_api_port)
        assert asked.predict({"instances": ["short"]})[0] == 200
        answers = {}

        def ask_rest():
            rows = {"instances": ["x" * (number % 50) for number in range(20_000)]}
            answers["REST"] = len(asked.predict(rows)[1]["predictions"])

        def ask_grpc():
            with grpc.insecure_channel(f"localhost:{port}") as channel:
                stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
                running = stub.Predict.future(request_of(["2000"], signature_name="work"))
                answers["gRPC"] = list(running.result().outputs)

        threads = [threading.Thread(target=ask) for ask in (ask_rest, ask_grpc)]
        for thread in threads:
            thread.start()
        wait_until(lambda: pending(rest_api_port) == 2)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert answers == {"REST": 20_000, "gRPC": ["trace"]}
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0 and "Traceback" not in errors
    finally:
        process.kill()


def pending(rest_api_port: int) -> float:
    """How many requests run, by the server's own count."""
    url = f"http://localhost:{rest_api_port}/monitoring/prometheus/metrics"
    with urllib.request.urlopen(url, timeout=120) as page:
        return float(re.search(rb"\n:kbert:serving:pending_requests (\S+)", page.read())[1])
