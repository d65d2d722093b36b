r"""Benchmark: `kbert serve` under load, with malformed requests between the good ones.

  python -m benchmarks.server
  python -m benchmarks.server --init_checkpoint=hf://org/name --clients=1,8,64 --seconds=60

A process of its own serves MiniLM (the peers'), or what --init_checkpoint names. Clients, threads of this
process on the same cores, ask POST /embed one text after the other; every answer is compared with that of the
model in Python. Meanwhile one more client sends what is wrong: half requests, too large ones, no JSON, wrong
values. The table has milliseconds from request to answer, texts a second, and the server's memory at the
start and at the end.
"""

import contextlib
import http.client
import itertools
import json
import re
import socket
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import numpy as np
from absl import flags

from benchmarks import REPOSITORY
from benchmarks.answers import mixed_texts
from benchmarks.report import close, machine, markdown
from kbert.cli import script

FLAGS = flags.FLAGS
_TOLERANCE = 1e-4
_HEAD = "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n"
MALFORMED = [
    b"GET",
    b"\x16\x03\x01\x02\x00\x01",
    b"POST /embed HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    _HEAD.format(10**9).encode(),
    _HEAD.format(100).encode() + b"{",
    *(
        _HEAD.format(len(body)).encode() + body
        for body in (b"", b"[", b"\xff", b"{}", b'{"inputs": [3]}', b'{"inputs": []}', b"[" * 100_000)
    ),
    _HEAD.format(70_020).encode() + json.dumps({"inputs": "a" * 70_005}).encode(),
]


class Load(NamedTuple):
    """What clients saw: seconds of each answer; wrong and lost ones; malformed requests, and those taken."""

    seconds: list[float]
    wrong: int
    lost: int
    malformed: int
    accepted: int


def define_flags():
    flags.DEFINE_string("init_checkpoint", None, "What is served; by default the peers' MiniLM.")
    flags.DEFINE_list("clients", ["1", "8", "64"], "How many at a time, one after the other.")
    flags.DEFINE_float("seconds", 30.0, "For each number of clients.")


def main():
    from benchmarks.workers.environments import find_minilm
    from kbert.inference.loading import load

    path = FLAGS.init_checkpoint or find_minilm()
    texts = mixed_texts(256)
    expected = load(path).embed(texts)
    print(machine(), flush=True)
    began = time.monotonic()
    command = [
        sys.executable,
        "-m",
        "kbert",
        "serve",
        path,
        "--port=0",
        "--rest_api_port=0",
        "--nolog_requests",
    ]
    rows = {}
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(re.search(r"REST http://localhost:(\d+)", process.stdout.readline())[1])
            address = time.monotonic() - began
            with contextlib.closing(http.client.HTTPConnection("localhost", port)) as connection:
                ask(connection, texts[0])
            print(
                f"seconds to the address: {address:.1f}, to the first answer: {time.monotonic() - began:.1f}"
            )
            for number in map(int, FLAGS.clients):
                before = megabytes(process.pid)
                load_ = run_clients(port, texts, expected, number, FLAGS.seconds)
                rows[number] = _figures(load_, FLAGS.seconds) | {
                    "megabytes": [before, megabytes(process.pid)]
                }
        finally:
            process.terminate()
            process.wait(60)
    print(_table(rows))
    close("server", {str(number): row for number, row in rows.items()} | {"seconds_to_address": address})


def ask(connection: http.client.HTTPConnection, text: str) -> np.ndarray:
    """The vector of one text, over a connection that is kept."""
    connection.request("POST", "/embed", json.dumps({"inputs": text}))
    response = connection.getresponse()
    content = response.read()
    if response.status != 200:
        raise ConnectionError(content[:200])
    return np.array(json.loads(content)[0])


def run_clients(port: int, texts, expected, num_clients: int, seconds: float) -> Load:
    """Asks by so many clients at a time, each with its next text when the last one is answered."""
    times: list[float] = []
    counts = {"wrong": 0, "lost": 0, "malformed": 0, "accepted": 0}
    end = time.monotonic() + seconds

    def client(number):
        connection = http.client.HTTPConnection("localhost", port, timeout=60)
        for place in itertools.count(number * 7):
            began = time.monotonic()
            if began > end:
                connection.close()
                break
            try:
                answer = ask(connection, texts[place % len(texts)])
            except (OSError, http.client.HTTPException, ValueError):
                counts["lost"] += 1
                connection.close()
                continue
            times.append(time.monotonic() - began)
            counts["wrong"] += int(np.abs(answer - expected[place % len(texts)]).max() > _TOLERANCE)

    def rude_client():
        for sent in itertools.cycle(MALFORMED):
            if time.monotonic() > end:
                break
            with socket.create_connection(("localhost", port), timeout=0.3) as connection:
                try:
                    connection.sendall(sent)
                    answer = connection.recv(100)
                except OSError:  # it waits for the rest of the request: the client goes
                    answer = b""
            counts["malformed"] += 1
            counts["accepted"] += b" 200 " in answer

    threads = [threading.Thread(target=client, args=(number,)) for number in range(num_clients)]
    threads.append(threading.Thread(target=rude_client))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Load(times, **counts)


def megabytes(process: int) -> float:
    """Resident memory of a process."""
    with open(f"/proc/{process}/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024


def _figures(load: Load, seconds: float) -> dict:
    p50, p99 = 1e3 * np.percentile(load.seconds, [50, 99])
    rate = len(load.seconds) / seconds
    return (
        {"p50": p50, "p99": p99, "texts_per_second": rate} | load._asdict() | {"seconds": len(load.seconds)}
    )


def _table(rows: dict) -> str:
    heads = ["clients", "texts/s", "p50 ms", "p99 ms", "wrong", "lost", "malformed", "accepted", "MB"]
    return markdown(
        heads,
        [
            [
                number,
                f"{row['texts_per_second']:.0f}",
                f"{row['p50']:.1f}",
                f"{row['p99']:.1f}",
                *(row[name] for name in ("wrong", "lost", "malformed", "accepted")),
                " -> ".join(f"{size:,.0f}" for size in row["megabytes"]),
            ]
            for number, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
