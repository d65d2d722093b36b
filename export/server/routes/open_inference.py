"""The Open Inference Protocol over REST, which KServe and Triton's clients speak: tensors by name.

Reference: https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md
"""

import math
from enum import Enum
from typing import Annotated, Any, Literal

import numpy as np
import tensorflow as tf
from fastapi import FastAPI, Header, Response
from pydantic import Field

import kbert

from ..binary_tensors import JSON_SIZE, BinaryValues, as_bytes, split_body
from ..json_body import shown
from ..json_tensors import listed, tensor_from_json
from ..request import Request, invalid
from ..request_fields import FirstFault, Flag, Object, RequestFields, SignatureName
from ..service import Service
from ..tensors import MAX_RANK
from .messages import Body, Name, Own, Version, check_model, json_answer
from .text_fields import Model

_MODEL = "/v2/models/{name:path}"
_VERSION = _MODEL + "/versions/{version}"
_DATATYPES = {
    "BYTES": tf.string,
    "BOOL": tf.bool,
    "INT32": tf.int32,
    "INT64": tf.int64,
    "FP16": tf.float16,
    "FP32": tf.float32,
    "FP64": tf.float64,
}
_NAMES = {dtype: name for name, dtype in _DATATYPES.items()}
_Objects = Annotated[list[dict[str, Any]], FirstFault()]


_JsonSize = Annotated[str | None, Header(alias=JSON_SIZE)]


class _ContentType(RequestFields):
    """How MLServer's and Seldon's clients made a tensor: of texts, or of an array."""

    content_type: Annotated[Literal["str", "np"] | None, Field(description='"str" or "np"')] = None


class _InputParameters(_ContentType):
    binary_data_size: Annotated[int | None, Field(ge=0, description="a number of bytes")] = None


class _OutputParameters(RequestFields):
    binary_data: Annotated[bool | None, Field(description="true or false")] = None


class _Parameters(_ContentType):
    signature_name: SignatureName = ""
    binary_data_output: Flag = False


class _Output(RequestFields):
    name: Annotated[str, Field(description="the name of an output")]
    parameters: Object = {}


class _Tensor(RequestFields):
    name: Annotated[str, Field(description="the name of an input")]
    shape: Annotated[
        list[Annotated[int, Field(ge=0)]],
        FirstFault(),
        Field(max_length=MAX_RANK, description=f"a list of up to {MAX_RANK} sizes"),
    ]
    datatype: Annotated[
        Literal["BYTES", "BOOL", "INT32", "INT64", "FP32", "FP64"],
        Field(description="BYTES, BOOL, INT32, INT64, FP32 or FP64"),
    ]
    data: Annotated[list[Any] | None, Field(description="a list of the values, row after row")] = None
    parameters: Object = {}


class InferFields(RequestFields):
    """`/v2/models/NAME/infer`."""

    id: Annotated[str | None, Field(description="a text")] = None
    model_name: Model = None  # KServe's client
    parameters: Object = {}
    inputs: Annotated[_Objects, Field(description="a list of tensors: name, shape, datatype, data")]
    outputs: Annotated[_Objects, Field(description='a list of objects with "name"')] = []


def add_open_inference_paths(app: FastAPI, service: Service) -> None:
    """Whether it lives, what it serves, `infer`. The longest path is added first, by the last decorator: a
    name may hold slashes."""
    model = service.model
    tags: list[str | Enum] = ["Open Inference Protocol"]

    @app.get("/v2", tags=tags)
    async def server():
        """The server."""
        return json_answer(
            {"name": "kbert", "version": kbert.__version__, "extensions": ["binary_tensor_data"]}
        )

    @app.get("/v2/health/live", tags=tags)
    async def live():
        """200 while it lives."""
        return json_answer({"live": True})

    @app.get("/v2/health/ready", tags=tags)
    @app.get(_MODEL + "/ready", include_in_schema=False)
    @app.get(_VERSION + "/ready", include_in_schema=False)
    async def ready(name: Name, version: Version):
        """200 while requests are taken."""
        check_model(model, name, version)
        ready = not service.is_stopping
        named = {} if name is None else {"name": model.name}
        return json_answer(named | {"ready": ready}, 200 if ready else 503)

    @app.get(_MODEL, tags=tags)
    @app.get(_VERSION, include_in_schema=False)
    async def metadata(name: str, version: Version):
        """Inputs and outputs of the signature serving_default."""
        check_model(model, name, version)
        _, definition = model.signature("")
        return json_answer(
            {
                "name": model.name,
                "versions": [str(model.version)],
                "platform": "tensorflow_savedmodel",
                "inputs": _described(definition.inputs),
                "outputs": _described(definition.outputs),
            }
        )

    @app.post(_MODEL + "/infer", tags=tags, **InferFields.described())
    @app.post(_VERSION + "/infer", include_in_schema=False)
    def infer(name: str, version: Version, own: Own, body: Body, json_size: _JsonSize = None):
        """Tensors in, tensors out; `parameters` may name another `signature_name` than serving_default."""
        check_model(model, name, version)
        document, values = split_body(body, json_size)
        return inferred(service, own, InferFields.read(document), values)


def inferred(service: Service, own: Request, fields: InferFields, values: BinaryValues) -> Response:
    """The answer of `infer`."""
    model = service.model
    check_model(model, fields.model_name)
    parameters = _Parameters.of(fields.parameters)
    signature, definition = model.signature(parameters.signature_name)
    is_binary = _wanted(fields, signature, definition)
    inputs = {
        name: _array(tensor, definition.inputs.get(name), values, service.limits)
        for name, tensor in _by_name("inputs", fields.inputs, _Tensor).items()
    }
    values.require_end()
    outputs = service.predict(own, signature, inputs, tuple(is_binary))
    answer = {"model_name": model.name, "model_version": str(model.version)}
    answer |= {} if fields.id is None else {"id": fields.id}
    return _written(answer, outputs, is_binary, parameters.binary_data_output)


def _wanted(fields: InferFields, signature: str, definition) -> dict[str, bool | None]:
    """The outputs that are asked for; whether as bytes, if it is said."""
    outputs = _by_name("outputs", fields.outputs, _Output)
    is_binary = {
        name: _OutputParameters.of(output.parameters).binary_data for name, output in outputs.items()
    }
    for name in is_binary:
        if name not in definition.outputs:
            raise invalid(f"outputs: {shown(name)} is none; {signature} has {', '.join(definition.outputs)}.")
    return is_binary


def _by_name(what: str, objects: list[dict], kind: Any) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for received in objects:
        each = kind.of(received)
        if each.name in named:
            raise invalid(f"{what}: {shown(each.name)} is given twice.")
        named[each.name] = each
    return named


def _array(tensor: _Tensor, info, values: BinaryValues, limits) -> np.ndarray:
    parameters = _InputParameters.of(tensor.parameters)
    size = parameters.binary_data_size
    if (size is None) == (tensor.data is None):
        raise invalid(
            f"{tensor.name}: expected either its values in data, or in its parameters binary_data_size, the "
            "number of its bytes behind the JSON."
        )
    dtype = _DATATYPES[tensor.datatype]
    if info is not None and tf.as_dtype(info.dtype) != dtype:
        raise invalid(f"{tensor.name}: received {tensor.datatype}; expected {_datatype(info.dtype)}.")
    # A list has the shape (n, 1) in MLServer's StringCodec, and in Triton where max_batch_size is above 0.
    takes_list = info is not None and len(info.tensor_shape.dim) == 1
    shape = tensor.shape[:1] if takes_list and tensor.shape[1:] == [1] else tensor.shape
    if size is not None:
        return values.take(tensor.name, size, shape, dtype, limits)
    array = tensor_from_json(tensor.name, tensor.data, dtype, limits)
    if array.size != math.prod(tensor.shape) or array.shape not in ((array.size,), tuple(tensor.shape)):
        raise invalid(
            f"{tensor.name}: data has the shape {list(array.shape)}, and its shape says {tensor.shape}."
        )
    return array.reshape(shape)


def _datatype(dtype) -> str:
    dtype = tf.as_dtype(dtype)
    return _NAMES.get(dtype, dtype.name)


def _described(infos) -> list[dict]:
    return [
        {
            "name": name,
            "datatype": _datatype(info.dtype),
            "shape": [dim.size for dim in info.tensor_shape.dim],
        }
        for name, info in sorted(infos.items())
    ]


def _written(answer: dict, outputs: dict[str, np.ndarray], is_binary: dict, default: bool) -> Response:
    """The answer with its outputs: values in the JSON, or as bytes behind it."""
    behind: list[bytes] = []
    written: list[dict[str, Any]] = []
    for name, array in outputs.items():
        written.append({"name": name, "shape": list(array.shape), "datatype": _datatype(array.dtype)})
        if default if is_binary.get(name) is None else is_binary[name]:
            behind.append(as_bytes(array))
            written[-1]["parameters"] = {"binary_data_size": len(behind[-1])}
        else:
            written[-1]["data"] = listed(array.reshape(-1))
    in_json = json_answer(answer | {"outputs": written})
    if not behind:
        return in_json
    headers = {JSON_SIZE: str(len(in_json.body))}
    return Response(b"".join([in_json.body, *behind]), 200, headers, media_type="application/octet-stream")
