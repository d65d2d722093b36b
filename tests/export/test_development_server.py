"""The development server as a class and as a process: what it refuses to start with, and how it ends."""

import pathlib
import re
import signal
import subprocess
import sys
import threading
import urllib.request

import grpc
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from export.server.running import DevelopmentServer
from tests.export.server.asking import MODEL, Asked, request_of, wait_until

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


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


# Signals while the models load


LOADS_LONG = """
import time
from kbert.cli import script
from export.server import running
from export.server.models.model_settings import ModelSettings

def load(models, options):
    print("loading", flush=True)
    time.sleep(600)

running.Server = load
script.run(lambda: running.serve_until_signal([ModelSettings("m", "none")], None))
"""


@pytest.mark.slow
def test_a_process_that_loads_can_be_stopped():
    command = [sys.executable, "-c", LOADS_LONG]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            while process.stdout.readline() not in ("loading\n", ""):
                pass
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output) == (143, "")
    assert errors.endswith("stopped by SIGTERM while the models were loading\n") and "Traceback" not in errors


# As a process


class Process:
    """The script, started, with its ports."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "export.development_server", "--port=0", "--rest_api_port=0", *arguments],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines = [self.process.stdout.readline() for _ in range(4)]
        ports = re.search(r"gRPC localhost:(\d+), REST http://localhost:(\d+)", self.lines[3])
        self.port, self.rest_api_port = (int(port) for port in ports.groups())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.communicate()


@pytest.mark.slow
def test_sigterm_lets_running_requests_end(asked_model_dir):
    base_path = str(pathlib.Path(asked_model_dir).parent)
    with Process(f"--model_base_path={base_path}", f"--model_name={MODEL}", "--enable_batching") as server:
        assert "development server" in server.lines[0]
        asked = Asked(server.rest_api_port)
        assert asked.predict({"instances": ["short"]})[0] == 200
        answers = {}

        def ask_rest():
            rows = {"instances": ["x" * (number % 50) for number in range(20_000)]}
            answers["REST"] = len(asked.predict(rows)[1]["predictions"])

        def ask_grpc():
            with grpc.insecure_channel(f"localhost:{server.port}") as channel:
                stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
                running = stub.Predict.future(request_of(["2000"], signature_name="work"))
                answers["gRPC"] = list(running.result().outputs)

        threads = [threading.Thread(target=ask) for ask in (ask_rest, ask_grpc)]
        for thread in threads:
            thread.start()
        wait_until(lambda: pending(server) == 2)
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert answers == {"REST": 20_000, "gRPC": ["trace"]}
        assert server.process.wait(timeout=120) == 0
        assert "Traceback" not in server.process.stderr.read()


def pending(server: Process) -> float:
    """How many requests run, by the server's own count."""
    url = f"http://localhost:{server.rest_api_port}/monitoring/prometheus/metrics"
    with urllib.request.urlopen(url, timeout=120) as page:
        return float(re.search(rb"\n:kbert:serving:pending_requests (\S+)", page.read())[1])
