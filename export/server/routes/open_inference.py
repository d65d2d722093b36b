"""The Open Inference Protocol over REST, which KServe and Triton's clients speak: tensors by name.

Reference: https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md
"""

import math
from enum import Enum
from typing import Annotated, Any, Literal

import numpy as np
import tensorflow as tf
from fastapi import FastAPI
from pydantic import Field

import kbert

from ..json_body import shown
from ..json_tensors import listed, tensor_from_json
from ..request import Request, invalid
from ..request_fields import FirstFault, RequestFields
from ..service import Service
from .messages import Body, Own, check_model, json_answer

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


class _OutputParameters(RequestFields):
    harmless = ("binary_data", "binary_data_output")  # answers are JSON, whatever is asked for


class _Parameters(_OutputParameters):
    signature_name: Annotated[str, Field(description="the name of a signature")] = ""


class _Output(RequestFields):
    name: Annotated[str, Field(description="the name of an output")]
    parameters: Annotated[dict[str, Any], Field(description="an object")] = {}


class _Tensor(RequestFields):
    name: Annotated[str, Field(description="the name of an input")]
    shape: Annotated[list[Annotated[int, Field(ge=0)]], FirstFault(), Field(description="a list of sizes")]
    datatype: Annotated[
        Literal["BYTES", "BOOL", "INT32", "INT64", "FP32", "FP64"],
        Field(description="BYTES, BOOL, INT32, INT64, FP32 or FP64"),
    ]
    data: Annotated[list[Any], Field(description="a list of the values, row after row")]
    parameters: Annotated[dict[str, Any], Field(description="an object")] = {}


class InferFields(RequestFields):
    """`/v2/models/NAME/infer`."""

    id: Annotated[str | None, Field(description="a text")] = None
    parameters: Annotated[dict[str, Any], Field(description="an object")] = {}
    inputs: Annotated[_Objects, Field(description="a list of tensors: name, shape, datatype, data")]
    outputs: Annotated[_Objects, Field(description='a list of objects with "name"')] = []


def add_open_inference_paths(app: FastAPI, service: Service) -> None:
    """Whether it lives, what it serves, `infer`. The longest path is added first, by the last decorator: a
    name may hold slashes."""
    model = service.model
    tags: list[str | Enum] = ["Open Inference Protocol"]

    @app.get("/v2", tags=tags)
    def server():
        """The server."""
        return json_answer({"name": "kbert", "version": kbert.__version__, "extensions": []})

    @app.get("/v2/health/live", tags=tags)
    async def live():
        """200 while it lives."""
        return json_answer({"live": True})

    @app.get("/v2/health/ready", tags=tags)
    @app.get(_MODEL + "/ready", include_in_schema=False)
    @app.get(_VERSION + "/ready", include_in_schema=False)
    async def ready(name: str | None = None, version: str | None = None):
        """200 while requests are taken."""
        check_model(model, name, version)
        ready = not service.is_stopping
        named = {} if name is None else {"name": model.name}
        return json_answer(named | {"ready": ready}, 200 if ready else 503)

    @app.get(_MODEL, tags=tags)
    @app.get(_VERSION, include_in_schema=False)
    def metadata(name: str, version: str | None = None):
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
    def infer(name: str, own: Own, body: Body, version: str | None = None):
        """Tensors in, tensors out; `parameters` may name another `signature_name` than serving_default."""
        check_model(model, name, version)
        return json_answer(inferred(service, own, InferFields.read(body)))


def inferred(service: Service, own: Request, fields: InferFields) -> dict:
    """The answer of `infer`."""
    model = service.model
    signature, definition = model.signature(_Parameters.of(fields.parameters).signature_name)
    wanted = [_Output.of(output) for output in fields.outputs]
    for output in wanted:
        _OutputParameters.of(output.parameters)
        if output.name not in definition.outputs:
            raise invalid(
                f"outputs: {shown(output.name)} is none; {signature} has {', '.join(definition.outputs)}."
            )
    inputs: dict[str, np.ndarray] = {}
    for received in fields.inputs:
        tensor = _Tensor.of(received)
        if tensor.name in inputs:
            raise invalid(f"inputs: {shown(tensor.name)} is there twice.")
        inputs[tensor.name] = _array(tensor, definition.inputs.get(tensor.name), service.limits)
    names = tuple(dict.fromkeys(output.name for output in wanted))
    outputs = service.predict(own, signature, inputs, names)
    answer = {"model_name": model.name, "model_version": str(model.version)}
    answer |= {} if fields.id is None else {"id": fields.id}
    return answer | {"outputs": [_written(name, array) for name, array in outputs.items()]}


def _array(tensor: _Tensor, info, limits) -> np.ndarray:
    if tensor.parameters:
        raise invalid(
            f"{tensor.name}: received the parameters {', '.join(tensor.parameters)[:100]}; expected "
            "values in data, as JSON."
        )
    dtype = _DATATYPES[tensor.datatype]
    if info is not None and tf.as_dtype(info.dtype) != dtype:
        expected = _NAMES.get(tf.as_dtype(info.dtype), tf.as_dtype(info.dtype).name)
        raise invalid(f"{tensor.name}: received {tensor.datatype}; expected {expected}.")
    array = tensor_from_json(tensor.name, tensor.data, dtype, limits)
    if array.size != math.prod(tensor.shape) or array.shape not in ((array.size,), tuple(tensor.shape)):
        raise invalid(
            f"{tensor.name}: data has the shape {list(array.shape)}, and its shape says {tensor.shape}."
        )
    return array.reshape(tensor.shape)


def _described(infos) -> list[dict]:
    return [
        {
            "name": name,
            "datatype": _NAMES.get(tf.as_dtype(info.dtype), tf.as_dtype(info.dtype).name),
            "shape": [dim.size for dim in info.tensor_shape.dim],
        }
        for name, info in sorted(infos.items())
    ]


def _written(name: str, array: np.ndarray) -> dict:
    datatype = _NAMES.get(tf.as_dtype(array.dtype), str(array.dtype))
    return {"name": name, "shape": list(array.shape), "datatype": datatype, "data": listed(array.reshape(-1))}
