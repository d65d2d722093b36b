"""Turns of worker processes: alternating, timed alone, and honest about a worker that dies."""

import sys
import time
from pathlib import Path

import pytest

from benchmarks.workers.contestants import Contestant, alternate

_WORKER = [sys.executable, str(Path(__file__).with_name("fake_worker.py"))]


@pytest.fixture
def start():
    started = []

    def start(name="worker", **settings):
        started.append(Contestant(name, _WORKER, settings, threads=1))
        return started[-1]

    yield start
    for contestant in started:
        contestant.close()


def test_a_worker_takes_its_steps_and_waiting_for_the_turn_is_in_none(start):
    worker = start()
    worker.take_turn(1)
    time.sleep(0.5)
    worker.take_turn(2)
    assert worker.record.facts == {"threads": 1} and worker.record.peak_megabytes > 1
    assert [step["loss"] for step in worker.record.steps] == [10.0, 9.0, 8.0]
    seconds = [step["seconds"] for step in worker.record.steps]
    assert all(0.002 <= second < 0.4 for second in seconds), seconds


def test_a_worker_that_is_done_is_passed_over(start):
    short, long = start("short", last_step=3), start("long", last_step=5)
    alternate([short, long], None, 2)
    assert [len(worker.record.steps) for worker in (short, long)] == [3, 5]
    assert short.record.result == {"accuracy": 0.5}


def test_a_worker_that_dies_is_reported_with_what_it_said(start):
    worker = start("the peer", fails_at=1)
    with pytest.raises(ValueError, match="(?s)the peer ended with exit code 1: .*own complaint"):
        worker.take_turn(5)
