"""Workers find each other here before TensorFlow connects them. No TensorFlow in this module.

TensorFlow (2.21) waits for a worker that has not started inside a call that holds Python's lock, and catches
SIGTERM: meanwhile nothing can be logged, and nothing but SIGKILL ends the process. So the workers first meet
at the same addresses, in plain Python.
"""

import contextlib
import errno
import json
import secrets
import socket
import threading
import time

from absl import logging

from kbert.cli.progress import activity
from kbert.cli.signals import StoppedBySignal, StopSignal
from kbert.config import Devices
from kbert.training.devices.cluster import Cluster, is_multi_worker, own_cluster, worker_name

_FIRST_LINE_AFTER, _LONGEST_PAUSE = 5.0, 300.0  # seconds before a line says who is missing; between two lines
_SECONDS_BETWEEN_TRIES, _SECONDS_FOR_AN_ANSWER = 0.2, 2.0
_SECONDS_FOR_THE_LAST = 5.0  # for those that have not asked this worker, once it has an answer of all
_MOST_BYTES = 1 << 16


_have_met: set[tuple] = set()  # the workers that this process is connected with: TensorFlow has the port


def require_free_port(devices: Devices) -> bool:
    """Whether this process is the one that writes: that of a training without workers, or their chief.

    Raises:
      ValueError: when the workers are not described, or the port of this one cannot be opened.
    """
    if not is_multi_worker(devices.strategy):
        return True
    own = own_cluster(devices.cluster)
    if tuple(own.addresses.items()) not in _have_met:
        _listen(own).close()
    return own.own == next(iter(own.addresses))


def wait_for_workers(cluster: Cluster):
    """Returns when every worker of the cluster has started; says after some seconds for whom it waits.

    Raises:
      ValueError: when the port is taken, or the TF_CONFIG of another worker says something else.
      StoppedBySignal: on SIGTERM and SIGINT.
    """
    process = secrets.token_hex(8)
    with _Answers(cluster, process) as answers, StopSignal().listening() as stop, activity(None):
        waiting = _Waiting(cluster, stop)
        missing = [worker for worker in cluster.addresses if worker != cluster.own]
        _ask(cluster, cluster.own, process)
        while missing:
            reasons = {worker: _ask(cluster, worker, process) for worker in missing}
            missing = [worker for worker in missing if reasons[worker]]
            if missing:
                waiting.go_on(missing[0], reasons[missing[0]])
        last = time.monotonic() + _SECONDS_FOR_THE_LAST
        while answers.not_asked and time.monotonic() < last:
            waiting.stop_if_asked("the other workers")
            time.sleep(_SECONDS_BETWEEN_TRIES)
    _have_met.add(tuple(cluster.addresses.items()))


class _Waiting:
    """Says rarely for whom this worker waits, and ends when it is told to."""

    def __init__(self, cluster, stop):
        self._cluster, self._stop = cluster, stop
        self._pause, self._next_line = _FIRST_LINE_AFTER, time.monotonic() + _FIRST_LINE_AFTER

    def go_on(self, worker, reason):
        peer = f"{worker_name(worker)} ({self._cluster.addresses[worker]})"
        self.stop_if_asked(peer)
        if time.monotonic() >= self._next_line:
            logging.info("waiting for %s: %s", peer, reason)
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._next_line = time.monotonic() + self._pause
        time.sleep(_SECONDS_BETWEEN_TRIES)

    def stop_if_asked(self, peer):
        if self._stop.received:
            raise StoppedBySignal(self._stop.received, f"while it waited for {peer}; no step was taken.")


class _Answers:
    """Answers the other workers, in a thread, as long as the context lasts."""

    def __init__(self, cluster: Cluster, process: str):
        self._cluster, self._process = cluster, process
        self.not_asked = set(cluster.addresses) - {cluster.own}

    def __enter__(self):
        self._listener = _listen(self._cluster)
        self._thread = threading.Thread(target=self._serve, name="workers", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._listener.close()
        self._thread.join()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            with connection, contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                connection.settimeout(_SECONDS_FOR_AN_ANSWER)
                asked_by = _read(connection)
                connection.sendall(_introduction(self._cluster, self._process))
                self.not_asked.discard(tuple(asked_by["worker"]))


def _listen(cluster):
    port = int(cluster.addresses[cluster.own].rpartition(":")[2])
    both = socket.has_dualstack_ipv6()  # as TensorFlow listens
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        return socket.create_server(("", port), family=family, dualstack_ipv6=both)
    except OSError as error:
        reason, way = error.strerror, "name"
        if error.errno == errno.EADDRINUSE:
            reason = "another process listens there"
            way = "end that process, which may be a worker with the same index, or name"
        raise ValueError(
            f"TF_CONFIG: port {port} of {worker_name(cluster.own)} ({cluster.addresses[cluster.own]}) cannot "
            f"be opened: {reason}; {way} another port on all workers."
        ) from None


def _ask(cluster, worker, process) -> str | None:
    """Why a worker does not answer; None where it does, also with TensorFlow's own words.

    Raises:
      ValueError: when it says that it is another one, or the same worker as this process.
    """
    host, _, port = cluster.addresses[worker].rpartition(":")
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), _SECONDS_FOR_AN_ANSWER)
    except socket.gaierror:
        return f"the name {host} is not known"
    except OSError as error:
        return _why(error)
    with connection:
        try:
            connection.settimeout(_SECONDS_FOR_AN_ANSWER)
            connection.sendall(_introduction(cluster, process))
            answer = _read(connection)
        except (OSError, ValueError, KeyError, TypeError):
            return None  # TensorFlow answers there already
    _require_agreement(cluster, worker, process, answer)
    return None


def _why(error):
    if isinstance(error, TimeoutError):
        return "no answer"
    return "nothing listens there" if error.errno == errno.ECONNREFUSED else error.strerror or str(error)


def _introduction(cluster, process) -> bytes:
    addresses = [[*worker, address] for worker, address in cluster.addresses.items()]
    return json.dumps({"worker": cluster.own, "process": process, "cluster": addresses}).encode() + b"\n"


def _read(connection) -> dict:
    """The other side's introduction. Raises ValueError where it is none."""
    received = b""
    while not received.endswith(b"\n") and len(received) < _MOST_BYTES:
        more = connection.recv(_MOST_BYTES)
        if not more:
            break
        received += more
    answer = json.loads(received)
    return {"worker": tuple(answer["worker"]), "process": answer["process"], "cluster": answer["cluster"]}


def _require_agreement(cluster, worker, process, answer):
    address = cluster.addresses[worker]
    if worker == cluster.own and answer["process"] != process:
        raise ValueError(
            f"TF_CONFIG: another process answers at {address}, the address of {worker_name(worker)}, as this "
            f"process is called too; give every worker an index of its own."
        )
    if answer["worker"] != worker:
        raise ValueError(
            f"TF_CONFIG: {address} is {worker_name(worker)} here, but calls itself "
            f"{worker_name(answer['worker'])}; give all workers the same cluster, and each its own index."
        )
    theirs = {(job, number): at for job, number, at in answer["cluster"]}
    if theirs != cluster.addresses:
        raise ValueError(
            f"TF_CONFIG lists the workers {', '.join(cluster.addresses.values())} here, but "
            f"{', '.join(theirs.values())} on {worker_name(worker)} ({address}); give all workers the same "
            "cluster."
        )
