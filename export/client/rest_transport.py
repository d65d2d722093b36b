"""Requests over REST: JSON in column form."""

import base64
import json
import urllib.parse

import numpy as np
import urllib3

from .failures import DEADLINE_EXCEEDED, UNAVAILABLE, RequestFailed
from .model_signatures import ModelSignature, Tensor
from .rest_answers import part_of_answer
from .tensors import DTYPE_NAMES, as_bytes, known_dtype


class RestTransport:
    """Connections to a server, kept open between requests.

    Args:
        server: `host:port`; TF Serving's REST port is 8501.
    """

    name = "REST"

    def __init__(self, server: str):
        self._base = f"http://{server}/v1/models/"
        self._pool = urllib3.PoolManager(retries=False, maxsize=16)

    def predict(
        self, spec, inputs: dict[str, np.ndarray], outputs: dict[str, Tensor], seconds: float
    ) -> dict[str, np.ndarray]:
        """Asks one signature; see `GrpcTransport.predict`. JSON has no dtypes: the metadata's count."""
        columns = {name: _to_json(array) for name, array in inputs.items()}
        body = {"signature_name": spec.signature_name, "inputs": columns}
        answer = self._exchange("POST", f"{_path(spec)}:predict", body, seconds, "outputs")
        if len(outputs) == 1:  # a single output comes without its name
            answer = dict.fromkeys(outputs, answer)
        return {name: _from_json(answer[name], tensor) for name, tensor in sorted(outputs.items())}

    def signatures(self, spec, seconds: float) -> list[ModelSignature]:
        """Lists the signatures of a model; see `GrpcTransport.signatures`."""
        metadata = self._exchange("GET", f"{_path(spec)}/metadata", None, seconds, "metadata")
        found = metadata["signature_def"]["signature_def"]
        return [
            ModelSignature(name, _tensors(one["inputs"]), _tensors(one["outputs"]))
            for name, one in sorted(found.items())
            if not name.startswith("__")
        ]

    def close(self) -> None:
        """Closes the connections."""
        self._pool.clear()

    def _exchange(self, method: str, path: str, body, seconds: float, wanted: str):
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8")
        headers = {"Content-Type": "application/json"}
        timeout = urllib3.Timeout(total=max(seconds, 0.001))
        try:
            response = self._pool.request(
                method, self._base + path, body=content, headers=headers, timeout=timeout
            )
        except urllib3.exceptions.NewConnectionError as error:  # before TimeoutError: it is one, too
            raise RequestFailed(UNAVAILABLE, str(error), answered=False) from error
        except urllib3.exceptions.TimeoutError as error:
            raise RequestFailed(DEADLINE_EXCEEDED, str(error)) from error
        except urllib3.exceptions.HTTPError as error:
            raise RequestFailed(UNAVAILABLE, str(error), answered=False) from error
        return part_of_answer(response.status, response.data, wanted)


def _path(spec) -> str:
    path = urllib.parse.quote(spec.name, safe="")
    if spec.version_label:
        return f"{path}/labels/{urllib.parse.quote(spec.version_label, safe='')}"
    return f"{path}/versions/{spec.version.value}" if spec.HasField("version") else path


def _tensors(infos: dict) -> dict[str, Tensor]:
    tensors = {}
    for name, info in infos.items():
        shape = info["tensor_shape"]
        sizes = tuple(int(dim["size"]) for dim in shape["dim"])
        known = tuple(None if size < 0 else size for size in sizes)
        dtype = known_dtype(DTYPE_NAMES.get(info["dtype"], 0))
        tensors[name] = Tensor(dtype, None if shape["unknown_rank"] else known)
    return tensors


def _to_json(array: np.ndarray):
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        texts = np.empty(array.size, object)
        texts[:] = [_text_to_json(value) for value in array.ravel().tolist()]
        return texts.reshape(array.shape).tolist()
    if array.dtype == np.float32:
        # The shortest decimal that reads back as the same float32: 0.2, not 0.20000000298.
        array = array.astype("U32").astype(np.float64)
    return array.tolist()


def _text_to_json(value: str | bytes):
    sent = as_bytes(value)  # refuses what gRPC refuses
    try:
        return sent.decode("utf-8")
    except UnicodeDecodeError:  # not text: base64 carries any bytes
        return {"b64": base64.b64encode(sent).decode("ascii")}


def _from_json(value, tensor: Tensor) -> np.ndarray:
    if tensor.dtype != object:
        return np.array(value, tensor.dtype)
    texts = np.array(value, object)
    array = np.empty(texts.size, object)
    array[:] = [_text_from_json(item) for item in texts.ravel()]
    return array.reshape(texts.shape)


def _text_from_json(value) -> bytes:
    return (
        base64.b64decode(value["b64"])
        if isinstance(value, dict)
        else value.encode("utf-8", "surrogateescape")
    )
