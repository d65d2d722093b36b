"""The other side of test_triton_client.py, run by the clients' Python: ask_triton.py URL MODEL TEXT ..."""

import json
import sys

import numpy as np
from tritonclient import http

url, model, *texts = sys.argv[1:]
client = http.InferenceServerClient(url)


def asked(values, datatype="BYTES", in_bytes=True, name="text", outputs=None, **options):
    """The answer to one input; in bytes both ways unless told otherwise, which is the client's own choice."""
    array = np.array(values, object if datatype == "BYTES" else np.float32)
    given = http.InferInput(name, list(array.shape), datatype)
    given.set_data_from_numpy(array, binary_data=in_bytes)
    if not in_bytes:
        outputs = [http.InferRequestedOutput(name, binary_data=False) for name in names]
    return client.infer(model, [given], outputs=outputs, **options)


def numbers(result):
    """Output -> its values; texts are bytes where they came as bytes."""
    arrays = {name: result.as_numpy(name) for name in names}
    return {
        name: [value if isinstance(value, str) else value.decode() for value in array.ravel()]
        if array.dtype == object
        else array.tolist()
        for name, array in arrays.items()
    }


def refusal(call):
    try:
        call()
    except http.InferenceServerException as error:
        return [error.status(), error.message()]


metadata = client.get_model_metadata(model)
names = [output["name"] for output in metadata["outputs"]]
one = http.InferRequestedOutput(names[0])
print(
    json.dumps(
        {
            "live": client.is_server_live(),
            "ready": client.is_server_ready(),
            "models": [client.is_model_ready(name) for name in (model, "other")],
            "version": client.is_model_ready(model, "1"),
            "server": client.get_server_metadata(),
            "metadata": metadata,
            "bytes": numbers(asked(texts)),
            "json": numbers(asked(texts, in_bytes=False)),
            "packed": numbers(asked(texts, request_compression_algorithm="gzip")),
            "one": [output["name"] for output in asked(texts, outputs=[one]).get_response()["outputs"]],
            "id": asked(texts, request_id="7", model_version="1").get_response()["id"],
            "refusals": [
                refusal(lambda: asked([1.0], "FP32")),
                refusal(lambda: asked(texts, name="words")),
                refusal(lambda: asked(texts, priority=3)),
                refusal(lambda: client.get_model_metadata("other")),
            ],
        }
    )
)  # fmt: skip
