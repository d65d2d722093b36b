"""Workers that wait for each other: they say for whom, can be ended, and notice when they disagree."""

import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from absl import logging

from kbert.cli.signals import StoppedBySignal
from kbert.training.devices import rendezvous
from kbert.training.devices.cluster import Cluster
from kbert.training.devices.rendezvous import wait_for_workers
from tests.free_ports import free_ports


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(rendezvous, "_FIRST_LINE_AFTER", 0.1)
    monkeypatch.setattr(rendezvous, "_SECONDS_BETWEEN_TRIES", 0.02)
    monkeypatch.setattr(rendezvous, "_SECONDS_FOR_THE_LAST", 0.3)
    monkeypatch.setattr(rendezvous, "_have_met", set())


def clusters(number, host="localhost"):
    """The `Cluster` of each of so many workers of this machine."""
    addresses = {("worker", index): f"{host}:{port}" for index, port in enumerate(free_ports(number))}
    return [Cluster(worker, addresses) for worker in addresses]


def meet(*clusters):
    """The error of each worker, or None."""
    with ThreadPoolExecutor(len(clusters)) as threads:
        return [one.exception() for one in [threads.submit(wait_for_workers, c) for c in clusters]]


def test_all_go_on_once_the_last_has_started():
    first, *others = clusters(3)
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(wait_for_workers, first)
        assert not waiting.done()
        assert meet(*others) == [None, None]
        waiting.result(timeout=5)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
def test_workers_meet_at_addresses_of_ipv6():
    assert meet(*clusters(2, "[::1]")) == [None, None]


def test_a_worker_that_tensorflow_has_taken_over_has_started():
    """Its server does not answer in our words."""
    own, other = clusters(2)
    host, port = own.addresses[other.own].split(":")
    with socket.create_server((host, int(port))) as server, ThreadPoolExecutor(1) as thread:

        def answer():
            with server.accept()[0] as connection:
                connection.sendall(b"\0\0\6\4")

        thread.submit(answer)
        wait_for_workers(own)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_it_says_for_whom_it_waits_and_can_be_ended(number, code, monkeypatch):
    own, other = clusters(2)
    lines = []
    monkeypatch.setattr(logging, "info", lambda line, *values: lines.append(line % values))
    threading.Timer(0.4, os.kill, (os.getpid(), number)).start()
    with pytest.raises(
        StoppedBySignal, match=f"while it waited for worker 1 .{own.addresses[other.own]}."
    ) as error:
        wait_for_workers(own)
    assert error.value.exit_code == code
    assert lines[0] == f"waiting for worker 1 ({own.addresses[other.own]}): nothing listens there"
    assert len(lines) == 2, "each pause is twice as long as the one before"


@pytest.mark.parametrize(
    ("of_other", "sentence"),
    [
        (lambda a, b, c: (("worker", 1), (a, b, c)), "lists the workers .* here, but .* on worker 1"),
        (lambda a, b, c: (("worker", 0), (b, a)), "is worker 1 here, but calls itself worker 0"),
        (
            lambda a, b, c: (("worker", 0), (a, b)),
            "another process answers at .* give every worker an index of",
        ),
    ],
    ids=["another cluster", "another order", "the same index"],
)
def test_workers_that_disagree_are_named(of_other, sentence, monkeypatch):
    addresses = [f"localhost:{port}" for port in free_ports(3)]
    name, theirs = of_other(*addresses)
    other = Cluster(name, {("worker", index): address for index, address in enumerate(theirs)})
    own = Cluster(("worker", 0), {("worker", index): address for index, address in enumerate(addresses[:2])})
    with rendezvous._Answers(other, "the other process"):
        # The same address on two machines is the same port here.
        monkeypatch.setattr(rendezvous, "_listen", lambda cluster: socket.create_server(("", 0)))
        with pytest.raises(ValueError, match=sentence):
            wait_for_workers(own)
