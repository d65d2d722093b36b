"""The development server as a class and as a process: what it refuses to start with, and how it ends."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import grpc
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from export.server import running
from export.server.composition import ServerOptions
from export.server.models.model_settings import ModelSettings
from export.server.real_server import real_server_command
from export.server.running import DevelopmentServer, banner
from tests.export.server.asking import MODEL, Asked, post, received, request_of, wait_until

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


def test_banner_says_what_it_is_and_names_the_real_server(tmp_path):
    first, second = (ModelSettings(name, str(tmp_path / name)) for name in ("sst2", "other"))
    text = banner([first, second])
    assert "development server" in text.splitlines()[0]
    assert text.splitlines()[-1] == "  " + real_server_command(first)


# Signals while the models load


@pytest.fixture
def loading(monkeypatch):
    """A function: the models "load" by doing what it is given; afterwards all signals act as before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def serve(base_path, while_loading):
        monkeypatch.setattr(running, "Server", lambda models, options: while_loading())
        running.serve_until_signal([ModelSettings(MODEL, str(base_path))], ServerOptions())

    yield serve
    for number, handler in before.items():
        signal.signal(number, handler)


def test_ctrl_c_while_the_models_load_is_left_to_the_command_line(loading, tmp_path, capsys):
    with pytest.raises(KeyboardInterrupt):
        loading(tmp_path, lambda: signal.raise_signal(signal.SIGINT))
    assert "serving " not in capsys.readouterr().out


def test_sigterm_while_the_models_load_ends_the_process(loading, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(running.os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as end:
        loading(tmp_path, lambda: signal.raise_signal(signal.SIGTERM))
    printed = capfd.readouterr()
    assert end.value.code == 143 and "serving " not in printed.out
    assert printed.err == "stopped by SIGTERM while the models were loading\n"


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
@pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (signal.SIGTERM, 143, "stopped by SIGTERM while the models were loading\n"),
        (signal.SIGINT, 130, "stopped by Ctrl-C\n"),
    ],
)
def test_a_process_that_loads_can_be_stopped(number, code, line):
    command = [sys.executable, "-c", LOADS_LONG]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            while process.stdout.readline() not in ("loading\n", ""):
                pass
            process.send_signal(number)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output) == (code, "")
    assert errors.endswith(line) and "Traceback" not in errors


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

    def memory(self) -> int:
        """Bytes that are resident."""
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


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


@pytest.mark.slow
def test_requests_that_outlast_the_grace_period_are_cancelled_and_the_end_is_clean(asked_model_dir):
    base_path = str(pathlib.Path(asked_model_dir).parent)
    flags = [f"--model_base_path={base_path}", f"--model_name={MODEL}", "--grace_seconds=0.2"]
    with Process(*flags) as server, socket.create_connection(("localhost", server.rest_api_port)) as client:
        client.sendall(post(json.dumps({"instances": ["10000000"], "signature_name": "work"}).encode()))
        wait_until(lambda: pending(server) == 1)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=120) == 0
        assert b" 503 " in received(client)
        assert "Traceback" not in server.process.stderr.read()


@pytest.mark.slow
def test_a_tensor_that_only_claims_to_be_large_takes_no_memory(asked_model_dir):
    base_path = str(pathlib.Path(asked_model_dir).parent)
    with Process(f"--model_base_path={base_path}", f"--model_name={MODEL}") as server:
        with grpc.insecure_channel(f"localhost:{server.port}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            stub.Predict(request_of())
            before = server.memory()
            request = request_of(["a"])
            request.inputs["text"].tensor_shape.dim[0].size = 100_000_000
            with pytest.raises(grpc.RpcError, match="INVALID_ARGUMENT"):
                stub.Predict(request)
        assert server.memory() - before < 50 << 20
