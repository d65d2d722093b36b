"""Classifies one sentence in every way that kbert offers, and measures the time of each."""

import importlib
import statistics
import time
from pathlib import Path

import numpy as np

from kbert.export_package import export_package
from kbert.inference.text_classifier import TextClassifier
from kbert.quickstart.running_server import RunningServer
from kbert.runs.run_directory import RunDirectory

_QUESTION = "Return a new socket connected to the mail server at the given host and port."
_TEXT = {"text": np.array([_QUESTION], object)}
_TIMED_CALLS = 30
_REFERENCE, _INT8 = "Keras (Python)", "LiteRT dynamic int8"


def ask_every_way(at: dict[str, Path], logs: Path) -> dict:
    """Classifies the sentence with Keras, the SavedModel, the server's two interfaces, and LiteRT.

    Args:
      at: see `commands.paths_in`.
      logs: the folder for the server's log.

    Returns:
      A dict with `text`; `rows`, each with `road` (the way of asking), `label`, `probability` and
      `latency_ms`; `max_difference` and `max_difference_int8`, the largest differences of a probability from
      Keras's.
    """
    print(f"\n     The same sentence, answered in every way: {_QUESTION!r}", flush=True)
    run, name = RunDirectory(at["classifier run"]), at["SavedModel"].name
    session_check, litert_model, client = map(
        _exporter, ("gate.session_check", "litert.litert_model", "client.serving_client")
    )
    classifier, session = TextClassifier(run), session_check.load_session(str(at["SavedModel"] / "1"))
    floats = litert_model.LiteRTModel(at["LiteRT"] / "model_float32.tflite", run.vocabulary())
    small = litert_model.LiteRTModel(at["LiteRT"] / "model_dynamic_int8.tflite", run.vocabulary())
    with (
        RunningServer(at["SavedModel"], name, logs) as server,
        client.ServingClient(server.grpc, name, "grpc") as grpc,
        client.ServingClient(server.rest, name, "rest") as rest,
    ):
        ways = {
            _REFERENCE: lambda: classifier.outputs([_QUESTION])["probabilities"].numpy(),
            "SavedModel, session loader": lambda: session_check.run_loaded(session, "serving_default", _TEXT)[
                "probabilities"
            ],
            "development server, gRPC": lambda: grpc.predict(_TEXT)["probabilities"],
            "development server, REST": lambda: rest.predict(_TEXT)["probabilities"],
            "LiteRT float32": lambda: floats([_QUESTION])["probabilities"],
            _INT8: lambda: small([_QUESTION])["probabilities"],
        }
        timed = {way: _timed(ask) for way, ask in ways.items()}
    return {"text": _QUESTION, "rows": _rows(timed, classifier.task.labels), **_differences(timed)}


def _timed(ask):
    """(answer, median seconds of one call); the first call is not timed."""
    answer = ask()
    seconds = []
    for _ in range(_TIMED_CALLS):
        began = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - began)
    return answer, statistics.median(seconds)


def _rows(timed, labels):
    return [
        {
            "road": way,
            "label": labels[int(answer[0].argmax())],
            "probability": float(answer[0].max()),
            "latency_ms": round(1000 * seconds, 2),
        }
        for way, (answer, seconds) in timed.items()
    ]


def _differences(timed):
    reference = timed[_REFERENCE][0]
    apart = {way: float(np.abs(answer - reference).max()) for way, (answer, _) in timed.items()}
    int8 = apart.pop(_INT8)
    return {"max_difference": max(apart.values()), "max_difference_int8": int8}


def _exporter(name):
    """A module of the exporters; their package has another name in an installed kbert."""
    return importlib.import_module(f"{export_package()}.{name}")
