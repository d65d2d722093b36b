"""The load test counts what is wrong, lost and refused, so that its zeros mean something."""

import numpy as np
import pytest

from benchmarks.load.malformed_requests import send_all
from benchmarks.load.serving_clients import RightAnswers, run_clients
from export.gate.saved_model_session import SavedModelSession
from tests.export.conftest import asked_model_dir, server, two_versions  # noqa: F401  fixtures
from tests.export.server.asking import MODEL, TEXTS


@pytest.fixture
def right(asked_model_dir):  # noqa: F811
    answer = SavedModelSession(asked_model_dir).run("serving_default", {"text": np.array(TEXTS, object)})
    numbers = {"probabilities": answer["probabilities"]}
    return RightAnswers(TEXTS, numbers, {"label": answer["label"]}, tolerance=1e-5)


def addresses(server):  # noqa: F811
    return [("grpc", f"localhost:{server.port}"), ("rest", f"localhost:{server.rest_api_port}")]


def test_right_answers_are_counted_as_right(server, right):  # noqa: F811
    counts = run_clients(addresses(server), MODEL, right, 0.3, 3, 10.0)
    assert (counts.wrong, counts.lost, counts.hung, counts.shed) == (0, 0, 0, 0)
    assert counts.texts >= len(counts.seconds) > 1 and counts.largest_difference <= 1e-5


def test_wrong_and_lost_answers_are_counted(server, right):  # noqa: F811
    right.numbers["probabilities"][0, 0] += 2e-5
    counts = run_clients(addresses(server), MODEL, right, 0.3, 1, 10.0)
    assert 0 < counts.wrong < len(counts.seconds) == counts.wrong + counts.texts
    assert counts.largest_difference == pytest.approx(2e-5, rel=0.1)
    right.strings["label"][1] = b"other"
    assert run_clients(addresses(server)[:1], MODEL, right, 0.1, 1, 10.0).texts == 0
    lost = run_clients([("rest", "localhost:1")], MODEL, right, 0.1, 1, 10.0)
    assert lost.lost > 0 and "No server answers" in lost.failures[0] and not lost.seconds


def test_every_malformed_request_is_refused(server):  # noqa: F811
    (grpc, rest) = (address for _, address in addresses(server))
    assert send_all(grpc, rest, MODEL) == []
    assert len(send_all(grpc, "localhost:1", MODEL)) >= 10  # nobody there is no refusal
