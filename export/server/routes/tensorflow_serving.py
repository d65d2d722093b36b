"""TensorFlow Serving's paths, for any model. Reference: https://www.tensorflow.org/tfx/serving/api_rest"""

from fastapi import FastAPI, Response
from google.protobuf import json_format
from starlette.exceptions import HTTPException

from ..json_body import parse_object
from ..json_tensors import TensorFields, read_inputs, write_outputs
from ..request import Request
from ..service import Service
from .messages import Body, Own, Version, check_model, described, json_answer

_MODEL = "/v1/models/{name:path}"  # with a slash in the name, as the hub's are
_VERSION = _MODEL + "/versions/{version}"


def add_serving_paths(app: FastAPI, service: Service) -> None:
    """`:predict`, status and metadata. The longest path is added first, the last decorator: a name may
    hold slashes."""
    model = service.model

    @app.post(_MODEL + ":predict", tags=["TensorFlow Serving"], **TensorFields.described())
    @app.post(_VERSION + ":predict", include_in_schema=False)
    def predict(name: str, version: Version, own: Own, body: Body):
        """`{"instances": [...]}` or `{"inputs": ...}`, and `signature_name` if it is not serving_default."""
        check_model(model, name, version)
        return predicted(service, own, parse_object(body))

    @app.get(_MODEL + "/metadata", tags=["TensorFlow Serving"])
    @app.get(_VERSION + "/metadata", include_in_schema=False)
    async def metadata(name: str, version: Version):
        """The signatures: inputs and outputs with dtypes and shapes."""
        check_model(model, name, version)
        written = json_format.MessageToDict(
            model.signature_map, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        spec = {"name": model.name, "signature_name": "", "version": str(model.version)}
        return json_answer({"model_spec": spec, "metadata": {"signature_def": written}})

    @app.get(_MODEL, tags=["TensorFlow Serving"])
    @app.get(_VERSION, include_in_schema=False)
    async def status(name: str, version: Version):
        """The model's status, as TensorFlow Serving gives it, and OpenAI's description of a model."""
        if f"{name}/{version}".endswith((":predict", ":predict/None")):
            raise HTTPException(405, "Method Not Allowed", {"allow": "POST"})
        check_model(model, name, version)
        ok = {"error_code": "OK", "error_message": ""}
        state = {"version": str(model.version), "state": "AVAILABLE", "status": ok}
        # "ready" is what a client of KServe's first protocol asks for.
        return json_answer(
            {"model_version_status": [state], "ready": not service.is_stopping} | described(model)
        )


def predicted(service: Service, own: Request, document: dict) -> Response:
    """The answer to a document with `instances` or `inputs`."""
    fields = TensorFields.of(document)
    signature, definition = service.model.signature(fields.signature_name)
    inputs = read_inputs(fields, definition, service.limits)
    is_rows = fields.is_rows
    document.clear()  # many times as large as its arrays
    del fields
    outputs = service.predict(own, signature, inputs)
    return Response(write_outputs(outputs, is_rows), media_type="application/json")
