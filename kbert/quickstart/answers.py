"""Classifies test passages in every way that kbert offers, and measures the time of each."""

import contextlib
import importlib
import statistics
import time
from pathlib import Path

import numpy as np

from kbert.export_package import export_package
from kbert.inference.text_classifier import TextClassifier
from kbert.input_pipelines.labelled_files import read_rows
from kbert.quickstart.running_server import RunningServer
from kbert.quickstart.shown_examples import shown_examples
from kbert.runs.run_directory import RunDirectory

_TIMED_CALLS = 30
_REFERENCE, _INT8 = "Keras (Python)", "LiteRT dynamic int8"


def ask_every_way(at: dict[str, Path], logs: Path) -> dict:
    """Classifies two test passages with Keras, the SavedModel, the server's two interfaces, and LiteRT.

    Args:
      at: see `commands.paths_in`.
      logs: the folder for the server's log.

    Returns:
      A dict with `examples`, see `shown_examples`: each with `text`, its `label`, `is_right` (of Keras's
      answer), and `rows`, each with `way` (the way of asking), `label`, `probability` and `latency_ms`;
      `max_difference` and `max_difference_int8`, the largest differences of a probability from Keras's.
    """
    run = RunDirectory(at["classifier run"])
    classifier = TextClassifier(run)
    rows = read_rows(at["corpus"] / "labelled" / "test.tsv", run.config.dataset)
    examples = shown_examples(classifier, rows)
    with contextlib.ExitStack() as stack:
        ways = _ways(at, run, classifier, logs, stack)
        asked = [_ask(ways, example.text) for example in examples]
    return {
        "examples": [
            example._asdict() | {"rows": _rows(timed, classifier.task.labels)}
            for example, timed in zip(examples, asked, strict=True)
        ],
        **_differences(asked),
    }


def _ways(at, run, classifier, logs, stack):
    """Way of asking -> function from a text to probabilities of shape (1, labels).

    Server and clients end with `stack`.
    """
    name = at["SavedModel"].name
    session_check, litert_model, client = map(
        _exporter, ("gate.session_check", "litert.litert_model", "client.serving_client")
    )
    session = session_check.load_session(str(at["SavedModel"] / "1"))
    floats = litert_model.LiteRTModel(at["LiteRT"] / "model_float32.tflite", run.vocabulary())
    small = litert_model.LiteRTModel(at["LiteRT"] / "model_dynamic_int8.tflite", run.vocabulary())
    server = stack.enter_context(RunningServer(at["SavedModel"], name, logs))
    grpc = stack.enter_context(client.ServingClient(server.grpc, name, "grpc"))
    rest = stack.enter_context(client.ServingClient(server.rest, name, "rest"))
    outputs = {
        _REFERENCE: lambda text: classifier.outputs([text]),
        "SavedModel, session loader": lambda text: session_check.run_loaded(
            session, "serving_default", _request(text)
        ),
        "development server, gRPC": lambda text: grpc.predict(_request(text)),
        "development server, REST": lambda text: rest.predict(_request(text)),
        "LiteRT float32": lambda text: floats([text]),
        _INT8: lambda text: small([text]),
    }
    return {way: _probabilities(function) for way, function in outputs.items()}


def _probabilities(function):
    return lambda text: np.asarray(function(text)["probabilities"])


def _request(text):
    return {"text": np.array([text], object)}


def _ask(ways, text):
    """Way -> (probabilities, median seconds of one call)."""
    print(f"\n     The same passage, answered in every way: {text[:100]!r}", flush=True)
    return {way: _timed(lambda ask=ask: ask(text)) for way, ask in ways.items()}


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
            "way": way,
            "label": labels[int(answer[0].argmax())],
            "probability": float(answer[0].max()),
            "latency_ms": round(1000 * seconds, 2),
        }
        for way, (answer, seconds) in timed.items()
    ]


def _differences(asked):
    apart = {
        way: max(float(np.abs(timed[way][0] - timed[_REFERENCE][0]).max()) for timed in asked)
        for way in asked[0]
    }
    int8 = apart.pop(_INT8)
    return {"max_difference": max(apart.values()), "max_difference_int8": int8}


def _exporter(name):
    """A module of the exporters; their package has another name in an installed kbert."""
    return importlib.import_module(f"{export_package()}.{name}")
