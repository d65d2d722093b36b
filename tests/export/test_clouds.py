"""What Vertex AI and SageMaker do with a container: its variables, arguments, paths and signals."""

import json
import os
import re
import signal
import urllib.error
import urllib.request

import pytest

from export import development_server
from export.server import running
from tests.export.server.asking import wait_until
from tests.free_ports import free_ports
from tests.warm_processes import WarmProcess

HEALTH, PREDICT = "/v1/endpoints/1/deployedModels/2", "/v1/endpoints/1/deployedModels/2:predict"


def ask(url, body=None, kind="application/json", timeout=120):
    """(status, answer) of a GET, or of a POST with a body."""
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.slow
def test_a_container_is_asked_as_both_clouds_ask(two_versions):
    (port,) = free_ports(1)
    variables = {"AIP_HTTP_PORT": str(port), "AIP_HEALTH_ROUTE": HEALTH, "AIP_PREDICT_ROUTE": PREDICT}
    process = WarmProcess(
        *("kbert", "serve", two_versions, "--host=0.0.0.0", "--port=0"),
        environment=os.environ | variables | {"AIP_STORAGE_URI": "gs://bucket/model"},
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(process.lines)
        assert re.search(rf"REST http://localhost:{port}\n", process.lines()[0] + "\n")
        # Vertex AI: https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements
        assert ask(url + HEALTH)[0] == 200
        status, answer = ask(url + PREDICT, {"instances": ["short", "a much longer text"]})
        assert status == 200 and [one["label"] for one in answer["predictions"]] == ["short", "long"]
        settings = {"signature_name": "repeat", "top_k": 2}
        answer = ask(url + PREDICT, {"instances": ["ab"], "parameters": settings})
        assert answer == (200, {"predictions": [["ab", "ab"]]})
        # SageMaker
        assert ask(url + "/ping")[0] == 200
        status, answer = ask(url + "/invocations", {"instances": ["short"]})
        assert status == 200 and answer["predictions"][0]["label"] == "short"
        status, answer = ask(url + "/invocations", b"short\nlonger", "text/csv")
        assert status == 400 and answer["error"].startswith("The body is not valid JSON")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()


@pytest.fixture
def served(monkeypatch, tmp_path, asked_model_dir):
    """What `serve` would serve, and how, in a container of SageMaker."""
    monkeypatch.delenv("AIP_HTTP_PORT", raising=False)
    (tmp_path / "model").mkdir()
    os.symlink(asked_model_dir, tmp_path / "model" / "1")
    monkeypatch.setattr(development_server, "_CONTAINER_MODEL", str(tmp_path / "model"))
    calls = {}
    monkeypatch.setattr(
        running, "serve_until_signal", lambda path, name, **options: calls.update(options, path=path)
    )
    return calls


def test_without_a_path_it_serves_what_sagemaker_unpacks(served, monkeypatch, tmp_path):
    development_server.serve()
    assert (served["path"], served["host"], served["rest_api_port"]) == (
        str(tmp_path / "model"),
        "0.0.0.0",
        8080,
    )
    development_server.serve(host="127.0.0.1", rest_api_port=0)
    assert (served["host"], served["rest_api_port"]) == ("127.0.0.1", 0)
    monkeypatch.setenv("AIP_HTTP_PORT", "7080")
    development_server.serve()
    assert (served["host"], served["rest_api_port"]) == ("0.0.0.0", 7080)


def test_a_path_is_served_on_this_machine_alone(served, asked_model_dir):
    development_server.serve(asked_model_dir)
    assert (served["path"], served["host"], served["rest_api_port"]) == (asked_model_dir, "127.0.0.1", 8501)
