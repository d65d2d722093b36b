"""Only so many signatures run at a time, and nobody waits beyond a deadline."""

import threading

import pytest

from export.gate.saved_model_session import RequestError
from export.server.deadline import Deadline
from export.server.models.runs import Runs


class Session:
    """Notes how many runs there are at a time, and what time each is given."""

    def __init__(self, num_together):
        self.together = threading.Barrier(num_together)
        self.now = self.most = 0
        self.seconds = []

    def run(self, name, inputs, output_filter, timeout_seconds):
        self.now += 1
        self.most = max(self.most, self.now)
        self.seconds.append(timeout_seconds)
        self.together.wait(timeout=120)
        self.now -= 1
        return {}


def test_as_many_run_as_there_are_slots():
    session, runs = Session(2), Runs(2)
    threads = [
        threading.Thread(target=runs.run, args=(session, "a", {}, [], Deadline(60.0))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.most == 2 and len(session.seconds) == 4
    assert all(0 < seconds <= 60.0 for seconds in session.seconds)


def test_a_wait_ends_with_the_deadline_and_leaves_the_slot_alone():
    session, runs = Session(1), Runs(1)
    with runs.slot(Deadline()):
        with pytest.raises(RequestError, match="deadline") as error:
            runs.run(session, "a", {}, [], Deadline(0.02))
    assert error.value.status == "DEADLINE_EXCEEDED" and session.seconds == []
    assert runs.run(session, "a", {}, [], Deadline()) == {} and session.seconds == [None]
