"""64 clients with malformed requests between: no answer is wrong or lost, and memory stays as it is."""

import os

import pytest

import kbert
from benchmarks.answers import mixed_texts
from benchmarks.server import megabytes, run_clients
from export.server.running import DevelopmentServer
from tests.kbert.checkpoints.test_damaged_checkpoints import sentences


@pytest.mark.slow
@pytest.mark.long
def test_64_clients_get_their_own_answers(tmp_path):
    sentences(tmp_path / "model")
    texts = mixed_texts(64)
    expected = kbert.load(tmp_path / "model").embed(texts)
    with DevelopmentServer(tmp_path / "model", "m", 0, 0) as server:
        run_clients(server.rest_api_port, texts, expected, 64, 5)
        before = megabytes(os.getpid())
        load = run_clients(server.rest_api_port, texts, expected, 64, 10)
    assert load.wrong == load.lost == load.accepted == 0
    assert len(load.seconds) > 500 and load.malformed > 20
    assert megabytes(os.getpid()) - before < 100
