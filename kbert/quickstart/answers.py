"""Two texts and what a classifier answers to them: in every way that kbert offers, with the time of each."""

import contextlib
import importlib
import json
import statistics
import timeit
from http.client import HTTPConnection
from pathlib import Path

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

import kbert
from kbert.cli.commands import export_package
from kbert.input_pipelines.labelled_files import read_rows
from kbert.runs.run_directory import RunDirectory

_TIMED_CALLS = 30
_REFERENCE, _INT8 = "Keras (Python)", "LiteRT dynamic int8"


def ask_every_way(paths: dict[str, Path]) -> dict:
    """Classifies two test passages with Keras, the SavedModel, the server's two interfaces, and LiteRT.

    Args:
      paths: see `paths_in`.

    Returns:
      A dict with `examples`, the first that Keras answers rightly and the first that it does not: each with
      `text`, its `label`, `is_right`, and `rows`, each with `way` (the way of asking), `label`, `probability`
      and `latency_ms`; `max_difference` and `max_difference_int8`, the largest differences of a probability
      from Keras's.
    """
    run = RunDirectory(paths["classifier run"])
    classifier = kbert.load(run.path)
    examples = _right_and_wrong(classifier, list(read_rows(paths["corpus"] / "test.tsv", run.config.dataset)))
    with contextlib.ExitStack() as stack:
        ways = _ways(paths, classifier, run.vocabulary(), stack)
        answers_by_text = [
            {way: _timed(ask, example["text"]) for way, ask in ways.items()} for example in examples
        ]
    differences = {
        way: max(float(np.abs(answers[way][0] - answers[_REFERENCE][0]).max()) for answers in answers_by_text)
        for way in ways
    }
    return {
        "examples": [
            example | {"rows": _rows(answers, classifier.task.labels)}
            for example, answers in zip(examples, answers_by_text, strict=True)
        ],
        "max_difference_int8": differences.pop(_INT8),
        "max_difference": max(differences.values()),
    }


def _right_and_wrong(classifier, rows) -> list[dict]:
    """The first row that is answered rightly and the first that is not; fewer where there are none."""
    answers = classifier.predict([row.text for row in rows])
    are_right = [answer["label"] == row.label for answer, row in zip(answers, rows, strict=True)]
    positions = [are_right.index(is_right) for is_right in (True, False) if is_right in are_right]
    return [
        {"text": rows[position].text, "label": str(rows[position].label), "is_right": are_right[position]}
        for position in positions
    ]


def _ways(paths, classifier, vocabulary, stack):
    """Way of asking -> function from a text to outputs for a batch of one; the server ends with `stack`."""
    served, name = paths["SavedModel"], paths["SavedModel"].name
    session = _exporter("gate.saved_model_session").SavedModelSession(str(served / "1"))
    server = _exporter("server.running").DevelopmentServer(served, name, port=0, rest_api_port=0)
    stack.enter_context(server)
    predictor, litert = classifier.predictor("serving_default"), _exporter("litert.litert_model")
    floats = litert.LiteRTModel(paths["LiteRT"] / "model_float32.tflite", vocabulary)
    small = litert.LiteRTModel(paths["LiteRT"] / "model_dynamic_int8.tflite", vocabulary)
    return {
        _REFERENCE: lambda text: predictor.outputs(text=[text]),
        "SavedModel, session loader": lambda text: session.run(
            "serving_default", {"text": np.array([text], object)}
        ),
        "server, gRPC": _ask_grpc(stack.enter_context(_channel(server.port)), name),
        "server, REST": _ask_rest(
            stack.enter_context(contextlib.closing(HTTPConnection("localhost", server.rest_api_port))), name
        ),
        "LiteRT float32": lambda text: floats([text]),
        _INT8: lambda text: small([text]),
    }


def _channel(port):
    """To this machine, not through the proxy of `http_proxy`: gRPC takes that for localhost too."""
    return grpc.insecure_channel(f"localhost:{port}", options=[("grpc.enable_http_proxy", 0)])


def _ask_grpc(channel, name):
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

    def ask(text):
        inputs = {"text": tf.make_tensor_proto([text])}
        outputs = stub.Predict(predict_pb2.PredictRequest(model_spec={"name": name}, inputs=inputs)).outputs
        return {"probabilities": tf.make_ndarray(outputs["probabilities"])}

    return ask


def _ask_rest(connection, name):
    def ask(text):
        body = json.dumps({"instances": [text]})
        connection.request("POST", f"/v1/models/{name}:predict", body)
        (answer,) = json.load(connection.getresponse())["predictions"]
        return {"probabilities": [answer["probabilities"]]}

    return ask


def _exporter(name):
    """A module of the exporters; their package has another name in an installed kbert."""
    return importlib.import_module(f"{export_package()}.{name}")


def _timed(ask, text):
    """(probabilities, median milliseconds of a call); the first call is not timed."""
    probabilities = np.asarray(ask(text)["probabilities"])[0]
    seconds = timeit.repeat(lambda: ask(text), number=1, repeat=_TIMED_CALLS)
    return probabilities, round(1000 * statistics.median(seconds), 2)


def _rows(answers, labels):
    return [
        {
            "way": way,
            "label": labels[int(probabilities.argmax())],
            "probability": float(probabilities.max()),
            "latency_ms": milliseconds,
        }
        for way, (probabilities, milliseconds) in answers.items()
    ]
