"""The server as a class and as a process: what it takes, what it refuses to start with, and how it ends."""

import pathlib
import re
import signal
import threading

import grpc
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from export.server.running import DevelopmentServer, model_name_from
from tests.export.server.asking import Asked, request_of, wait_until
from tests.warm_processes import WarmProcess


def test_the_newest_version_or_one_version_is_served(two_versions):
    for folder, version, label in ((two_versions, 3, "short"), (two_versions / "1", 1, "long")):
        with DevelopmentServer(folder, None, 0, 0) as server:
            assert (server.model.name, server.model.version) == (two_versions.name, version)
            path = f"/v1/models/{two_versions.name}:predict"
            _, answer = Asked(server.rest_api_port).post(path, {"instances": ["short"]})
            assert answer["predictions"][0]["label"] == label


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("serving/reviews", "reviews"),
        ("serving/reviews/3/", "3"),  # a run, or nothing there
        ("hf://org/e5-small@main", "e5-small"),
        ("/home/me@corp/runs/x", "x"),
        ("reviews@2", "reviews_2"),
        ("my model's", "my_model_s"),
        ("keras_hub://bert_tiny", "bert_tiny"),
    ],
)
def test_the_name_is_that_of_the_folder(path, name):
    assert model_name_from(path) == name


def test_a_version_is_named_as_the_folder_of_versions(tmp_path):
    """A folder whose name is a number, as of a day, is a version only where it is an export."""
    run, version = tmp_path / "runs" / "20261128", tmp_path / "reviews" / "3"
    run.mkdir(parents=True)
    version.mkdir(parents=True)
    (version / "saved_model.pb").touch()
    assert [model_name_from(str(path)) for path in (run, version)] == ["20261128", "reviews"]


def test_a_link_to_the_newest_release_keeps_its_name(tmp_path, monkeypatch):
    """It became the release's: clients that ask for `reviews` got 404 after the next one."""
    for release in ("2026-11-30", "3"):
        (tmp_path / release).mkdir()
        (tmp_path / release / "saved_model.pb").touch()
        link = tmp_path / f"reviews_{release}"
        link.symlink_to(release)
        assert model_name_from(str(link)) == link.name
    monkeypatch.chdir(tmp_path / "3")
    assert model_name_from(".") == tmp_path.name  # a version


@pytest.mark.parametrize("name", ["a/b/c", "/a", "a/", "ex/..", 'a"b', "$HOME", "a\nb", "x" * 101])
def test_a_name_that_no_path_can_hold_is_refused(asked_model_dir, name):
    with pytest.raises(ValueError, match="model_name=.*expected letters, digits"):
        DevelopmentServer(asked_model_dir, name, 0, 0)


# As a process


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_loads_can_be_stopped(number):
    process = WarmProcess("tests.export.loading_server")
    try:
        wait_until(process.lines)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    folder = pathlib.Path(output.strip())  # of the model that is being written
    assert process.returncode == 128 + number and folder.is_absolute() and not folder.parent.exists()
    assert errors.endswith(f"stopped by {number.name} while the model was loading\n")
    assert "Traceback" not in errors


@pytest.mark.slow
def test_sigterm_lets_running_requests_end_and_each_request_has_a_line(asked_model_dir, tmp_path):
    end = tmp_path / "end"
    flags = ("--model_name=length", "--port=0", "--rest_api_port=0")
    process = WarmProcess("kbert", "serve", asked_model_dir, *flags)
    try:
        wait_until(process.lines)
        first = process.lines()[0]
        assert first.startswith("serving length version 1: ")
        port, rest_api_port = map(int, re.search(r"localhost:(\d+), REST .*:(\d+)", first).groups())
        asked, answers = Asked(rest_api_port), {}
        assert asked.post("/v1/models/length:predict", {"instances": ["short"]})[0] == 200
        assert asked.whole("GET", "/a%0AgRPC%20forged")[0] == 404

        def ask_rest():
            body = {"signature_name": "wait", "instances": [str(end)]}
            answers["REST"] = asked.post("/v1/models/length:predict", body)[0]

        def ask_grpc():
            with grpc.insecure_channel(f"localhost:{port}") as channel:
                stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
                request = request_of(["1"], signature_name="work")
                answers["gRPC"] = list(stub.Predict.future(request).result().outputs)

        threads = [threading.Thread(target=ask) for ask in (ask_rest, ask_grpc)]
        threads[0].start()
        wait_until((tmp_path / "end.runs").exists)
        threads[1].start()
        wait_until(lambda: b"kbert_queue_length 1.0" in asked.whole("GET", "/metrics")[2])
        process.send_signal(signal.SIGHUP)  # a lost terminal, and the end of its login
        process.send_signal(signal.SIGTERM)
        end.touch()
        for thread in threads:
            thread.join()
        assert process.wait(timeout=120) == 0
        _, log = process.communicate()
    finally:
        process.kill()
    assert answers == {"REST": 200, "gRPC": ["trace"]} and "Traceback" not in log
    line = r"total=[\d.]+ms texts=1 tokens=\d+ queue=[\d.]+ms tokenization=in the graph inference=[\d.]+ms"
    assert re.search(r"^POST /v1/models/length:predict 200 " + line, log, re.M), log
    assert re.search(r"^gRPC Predict OK " + line, log, re.M), log
    assert "GET /a%0AgRPC%20forged 404 " in log, "a path makes no lines of its own"
