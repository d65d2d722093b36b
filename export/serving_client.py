r"""Sends texts to a running server, and prints one line of JSON for every text.

    python -m export.serving_client --model_name=sst2 --text='a fine film'
    python -m export.serving_client --model_name=mrpc --api=rest \
        --text='He left.' --text_pair='He went away.'
    python -m export.serving_client --model_name=sst2 < lines.txt

Works with TensorFlow Serving and with the development server. The two functions are importable:
inputs and outputs are NumPy arrays by name, whichever API carries them.
"""

import base64
import http.client
import json
import sys
import urllib.parse

import numpy as np
from absl import flags

from kbert import command_line

_DEFAULT_SERVERS = {"grpc": "localhost:8500", "rest": "localhost:8501"}
_channels: dict = {}


def predict_grpc(
    server: str,
    model_name: str,
    inputs: dict[str, np.ndarray],
    signature_name: str = "serving_default",
    timeout_seconds: float = 10.0,
) -> dict[str, np.ndarray]:
    """Sends one Predict request over gRPC.

    Args:
        server: `host:port`; TF Serving's gRPC port is 8500.
        model_name: the model's name on the server; its newest version answers.
        inputs: input name -> array, for example `{"text": np.array(["fine"])}`.
        signature_name: which signature answers.
        timeout_seconds: how long to wait for the answer.

    Returns:
        Output name -> array; strings are object arrays of bytes.

    Raises:
        ConnectionError: nobody answers at `server`.
        TimeoutError: the answer took too long.
        ValueError: the server refuses the request; the sentence says why and what to change.
    """
    # Imported here, because they load TensorFlow: a REST client need not wait these seconds.
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model_name
    request.model_spec.signature_name = signature_name
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(np.asarray(value)))

    if server not in _channels:
        # gRPC clients stop at 4 MB otherwise.
        options = [("grpc.max_receive_message_length", -1)]
        _channels[server] = grpc.insecure_channel(server, options)
    stub = prediction_service_pb2_grpc.PredictionServiceStub(_channels[server])
    try:
        response = stub.Predict(request, timeout=timeout_seconds)
    except grpc.RpcError as error:
        status = error.code().name
        if status == "UNAVAILABLE":
            # A new channel tries at once; this one would wait before it tries again.
            _channels.pop(server).close()
        raise _refusal(server, "gRPC", model_name, signature_name, inputs, status, error.details()) from error
    return {name: tf.make_ndarray(proto) for name, proto in sorted(response.outputs.items())}


def predict_rest(
    server: str,
    model_name: str,
    inputs: dict[str, np.ndarray],
    signature_name: str = "serving_default",
    timeout_seconds: float = 10.0,
) -> dict[str, np.ndarray]:
    """Sends one predict request over REST, in column form.

    Takes, returns and raises what `predict_grpc` does; TF Serving's REST port is 8501. JSON knows
    no dtypes, so numbers come back as float32 or int64.
    """
    path = f"/v1/models/{urllib.parse.quote(model_name, safe='')}"
    body = {
        "signature_name": signature_name,
        "inputs": {name: _to_json(np.asarray(value)) for name, value in inputs.items()},
    }
    status, answer = _exchange(server, "POST", f"{path}:predict", body, timeout_seconds)
    if status != 200:
        kind = {404: "NOT_FOUND", 400: "INVALID_ARGUMENT"}.get(status, f"HTTP {status}")
        raise _refusal(server, "REST", model_name, signature_name, inputs, kind, answer.get("error", ""))

    outputs = answer["outputs"]
    if not isinstance(outputs, dict) or _is_bytes(outputs):
        # A single output comes without its name, so the name is taken from the metadata.
        _, metadata = _exchange(server, "GET", f"{path}/metadata", None, timeout_seconds)
        signatures = metadata["metadata"]["signature_def"]["signature_def"]
        (name,) = signatures[signature_name]["outputs"]
        outputs = {name: outputs}
    return {name: _from_json(value) for name, value in sorted(outputs.items())}


def _exchange(server, method, path, body, timeout_seconds) -> tuple[int, dict]:
    connection = http.client.HTTPConnection(server, timeout=timeout_seconds)
    try:
        content = None if body is None else json.dumps(body).encode("utf-8")
        connection.request(method, path, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    except TimeoutError as error:
        raise TimeoutError(
            f"The server at {server} gave no answer over REST within {timeout_seconds} s. "
            "Wait longer (--timeout_seconds), or send fewer texts at once."
        ) from error
    except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
        raise _unreachable(server, "REST", str(error)) from error
    finally:
        connection.close()


def _refusal(server, api, model_name, signature_name, inputs, status, details) -> Exception:
    details = (details or "").strip().rstrip(".")
    if status == "UNAVAILABLE":
        return _unreachable(server, api, details)
    if status == "DEADLINE_EXCEEDED":
        return TimeoutError(
            f"The server at {server} gave no answer over {api} in time. "
            "Wait longer (--timeout_seconds), or send fewer texts at once."
        )
    if status == "NOT_FOUND" and "ervable" in details:
        return ValueError(
            f"The server at {server} has no model named {model_name!r} ({details}). "
            "Pass the name it was started with as --model_name."
        )
    sent = ", ".join(
        f"{name} {np.asarray(value).dtype} {list(np.shape(value))}" for name, value in inputs.items()
    )
    return ValueError(
        f"The server at {server} refuses the request to signature {signature_name!r} of model "
        f"{model_name!r}: {details or status}. The request had: {sent}. "
        f"Compare with the inputs that GET /v1/models/{model_name}/metadata lists."
    )


def _unreachable(server: str, api: str, reason: str) -> ConnectionError:
    return ConnectionError(
        f"No server answers over {api} at {server} ({reason}). Start one "
        "(python -m export.development_server --help), or correct --server and --api: TF Serving "
        "listens for gRPC on port 8500 and for REST on port 8501."
    )


def _to_json(array: np.ndarray):
    if array.dtype.kind in "OSU":
        texts = np.empty(array.size, object)
        texts[:] = [_text_to_json(value) for value in array.ravel().tolist()]
        return texts.reshape(array.shape).tolist()
    if array.dtype == np.float32:
        # The shortest decimal that reads back as the same float32: 0.2, not 0.20000000298.
        array = array.astype("U32").astype(np.float64)
    return array.tolist()


def _text_to_json(value):
    if isinstance(value, str):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:  # not text: base64 carries any bytes
        return {"b64": base64.b64encode(value).decode("ascii")}


def _from_json(value) -> np.ndarray:
    array = np.array(value)
    if array.dtype.kind in "UO":
        shape = array.shape
        array = np.empty(array.size, object)
        array[:] = [_text_from_json(item) for item in np.array(value, object).ravel()]
        return array.reshape(shape)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _text_from_json(value) -> bytes:
    return base64.b64decode(value["b64"]) if _is_bytes(value) else value.encode("utf-8")


def _is_bytes(value) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"}


def answer_line(inputs: dict[str, str], outputs: dict[str, np.ndarray]) -> str:
    """Returns the JSON line for one text: its inputs, then every output by name."""
    answers = {name: _to_json(_without_batch(array)) for name, array in outputs.items()}
    return json.dumps({**inputs, **answers}, ensure_ascii=False)


def _without_batch(array: np.ndarray) -> np.ndarray:
    return np.asarray(array[0]) if array.ndim and len(array) == 1 else array


def main(argv: list[str]) -> None:
    del argv
    flag_values = flags.FLAGS
    if flag_values.text_pair is not None and flag_values.text is None:
        raise ValueError("received --text_pair without --text; expected both. Pass --text too.")

    predict = {"grpc": predict_grpc, "rest": predict_rest}[flag_values.api]
    server = flag_values.server or _DEFAULT_SERVERS[flag_values.api]
    lines = sys.stdin if flag_values.text is None else [flag_values.text]
    for line in lines:
        texts = {"text": line.rstrip("\n")}
        if flag_values.text_pair is not None:
            texts["text_pair"] = flag_values.text_pair
        inputs = {name: np.array([text], object) for name, text in texts.items()}
        outputs = predict(
            server, flag_values.model_name, inputs, flag_values.signature_name, flag_values.timeout_seconds
        )
        print(answer_line(texts, outputs), flush=True)


def define_flags() -> None:
    # Inside a function because another script has a flag of the same name, and a test may import
    # both.
    flags.DEFINE_string("server", None, "host:port; localhost:8500 (grpc) or :8501 (rest) if left out.")
    flags.DEFINE_enum("api", "grpc", list(_DEFAULT_SERVERS), "Which API carries the request.")
    flags.DEFINE_string("model_name", None, "The model's name on the server.")
    flags.DEFINE_string("signature_name", "serving_default", "Which signature answers.")
    flags.DEFINE_string("text", None, "The text; without it, each line of stdin is a text.")
    flags.DEFINE_string("text_pair", None, "The second text, for a signature that takes a pair.")
    flags.DEFINE_float("timeout_seconds", 10.0, "How long to wait for an answer.")
    flags.mark_flags_as_required(["model_name"])


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
