r"""Benchmark: the development server under load. Every answer is compared with the right one.

  python -m benchmarks.serving_load --model_base_path=serving/sst2 --api=grpc --clients=16 --seconds=60

Starts the server on a copy of the newest version, and asks it by clients in a closed loop, with texts of
mixed lengths. With --swap_seconds a new version (the same model) appears every so often; with
--malformed_seconds a round of malformed requests is sent every so often, each of which must be refused. Right
answers are those that the session loader gives to each text alone. Clients and server share the machine's
cores, so figures say less about the server than a run from another machine would. Ends with one JSON line;
exits with code 1 when an answer was wrong, lost or late, or a malformed request was not refused.
"""

import math
import os
import random
import shutil
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from absl import flags

from benchmarks.figures import closing_line
from kbert import command_line

FLAGS = flags.FLAGS
_MODEL = "model"
_WORDS = "film story a the of never quite brilliant dull Häuser unbelievably is was not so and but".split()


def define_flags():
    flags.DEFINE_string("model_base_path", None, "Folder of a model's versions; its newest is served.")
    flags.DEFINE_enum(
        "api", "both", ["grpc", "rest", "both"], "Which API the clients ask; half of them each."
    )
    flags.DEFINE_integer("clients", 16, "Clients at a time.", lower_bound=1)
    flags.DEFINE_float("seconds", 60.0, "How long they ask.", lower_bound=0.1)
    flags.DEFINE_integer("texts_per_request", 1, "Texts of a request at most.", lower_bound=1)
    flags.DEFINE_integer("most_words", 100, "Words of a text at most.", lower_bound=1)
    flags.DEFINE_float("swap_seconds", 0.0, "Seconds between new versions; 0 for none.", lower_bound=0)
    flags.DEFINE_float("malformed_seconds", 0.0, "Seconds between malformed requests.", lower_bound=0)
    flags.DEFINE_bool("enable_batching", False, "Of the server.")
    flags.DEFINE_float("tolerance", 1e-5, "By how much a number may differ.", lower_bound=0)
    flags.mark_flags_as_required(["model_base_path"])


def main(argv):
    del argv
    newest = _newest(Path(FLAGS.model_base_path))
    right = right_answers(newest, _texts())
    with tempfile.TemporaryDirectory(prefix="serving_load_") as folder:
        result = _measure(newest, right, Path(folder))
    print(
        f"{result['requests']:,} requests, {result['texts_per_second']:.0f} texts/s; ms: "
        f"p50 {result['p50_ms']:.1f}, p95 {result['p95_ms']:.1f}, p99 {result['p99_ms']:.1f}\n"
        f"wrong {result['wrong']}, lost {result['lost']}, hung {result['hung']}, shed {result['shed']}; "
        f"largest difference {result['largest_difference']:.1e}\n"
        f"{result['swaps']} swaps, {result['malformed_rounds']} rounds of malformed requests; "
        f"MB resident: {result['megabytes_at_start']:.0f} -> {result['megabytes_at_end']:.0f}"
    )
    closing_line.close("serving_load", result)
    if result["wrong"] or result["lost"] or result["hung"] or result["not_refused"]:
        raise ValueError("not every answer was right and in time; see the figures above.")


def right_answers(saved_model: Path, texts: list[str]):
    """The `RightAnswers` of a SavedModel's `serving_default`: each text alone, by the session loader."""
    from benchmarks.load.serving_clients import RightAnswers
    from export.gate.saved_model_session import SavedModelSession

    session = SavedModelSession(str(saved_model))
    answers = [session.run("serving_default", {"text": np.array([text], object)}) for text in texts]
    columns = {name: np.concatenate([answer[name] for answer in answers]) for name in answers[0]}
    strings = {name: column for name, column in columns.items() if column.dtype.kind in "Ob"}
    numbers = {name: column for name, column in columns.items() if name not in strings}
    return RightAnswers(texts, numbers, strings, FLAGS.tolerance)


def _measure(newest: Path, right, folder: Path) -> dict:
    from benchmarks.load.running_server import RunningServer
    from benchmarks.load.serving_clients import run_clients

    shutil.copytree(newest, folder / "versions" / "1")
    server_flags = ["--enable_batching"] if FLAGS.enable_batching else []
    with RunningServer(folder / "versions", _MODEL, folder, server_flags) as server:
        both = [("grpc", server.grpc), ("rest", server.rest)]
        asked = [address for address in both if FLAGS.api in (address[0], "both")]
        addresses = [asked[number % len(asked)] for number in range(FLAGS.clients)]
        run_clients(addresses, _MODEL, right, 2.0, FLAGS.texts_per_request, 30.0)  # not measured
        before, ended, faults, rounds = _megabytes(server.process.pid), threading.Event(), [], [0, 0]
        disturbing = threading.Thread(target=_disturb, args=(server, newest, folder, ended, faults, rounds))
        disturbing.start()
        counts = run_clients(addresses, _MODEL, right, FLAGS.seconds, FLAGS.texts_per_request, 30.0)
        ended.set()
        disturbing.join()
        after = _megabytes(server.process.pid)
        server.process.terminate()
        exit_code = server.process.wait(timeout=60)
    p50, p95, p99 = np.percentile(1000 * np.array(counts.seconds), [50, 95, 99]).round(2).tolist()
    return {
        "api": FLAGS.api,
        "clients": FLAGS.clients,
        "batching": FLAGS.enable_batching,
        "seconds": FLAGS.seconds,
        "requests": len(counts.seconds),
        "texts_per_second": round(counts.texts / FLAGS.seconds, 1),
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "wrong": counts.wrong,
        "lost": counts.lost,
        "hung": counts.hung,
        "shed": counts.shed,
        "largest_difference": counts.largest_difference,
        "failures": counts.failures,
        "swaps": rounds[0],
        "malformed_rounds": rounds[1],
        "not_refused": faults[:10],
        "megabytes_at_start": before,
        "megabytes_at_end": after,
        "exit_code": exit_code,
    }


def _disturb(server, newest: Path, folder: Path, ended, faults: list[str], rounds: list[int]) -> None:
    """Adds versions and sends malformed requests, until the end."""
    from benchmarks.load.malformed_requests import send_all

    began = time.monotonic()
    every = [FLAGS.swap_seconds or math.inf, FLAGS.malformed_seconds or math.inf]
    while not ended.wait(0.1):
        passed = time.monotonic() - began
        if passed >= every[0] * (rounds[0] + 1):
            rounds[0] += 1
            _add_version(newest, folder / "versions", rounds[0] + 1)
        if passed >= every[1] * (rounds[1] + 1):
            rounds[1] += 1
            faults += send_all(server.grpc, server.rest, _MODEL)


def _add_version(newest: Path, base_path: Path, version: int) -> None:
    aside = base_path / f"tmp.{version}"
    shutil.copytree(newest, aside)
    os.rename(aside, base_path / str(version))


def _texts() -> list[str]:
    generator = random.Random(1)
    lengths = [1 + generator.randrange(FLAGS.most_words) for _ in range(200)]
    return [" ".join(generator.choices(_WORDS, k=length)) for length in lengths]


def _newest(base_path: Path) -> Path:
    from export.server.models.version_folders import check_base_path, versions

    check_base_path(base_path)
    return max(versions(base_path).items())[1]


def _megabytes(pid: int) -> float:
    """Resident memory of a process. Linux only (/proc)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
