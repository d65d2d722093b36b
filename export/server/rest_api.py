"""The REST paths: TensorFlow Serving's for any model; OpenAI's, text-embeddings-inference's and Cohere's for
vectors and ranked texts; the page.

References: https://www.tensorflow.org/tfx/serving/api_rest, https://platform.openai.com/docs/api-reference/embeddings,
https://huggingface.github.io/text-embeddings-inference, https://docs.cohere.com/reference/rerank
"""

import base64
import json
import pathlib
from typing import Annotated, Literal

import fastapi
import numpy as np
from fastapi import Depends, FastAPI, Response
from fastapi.exceptions import RequestValidationError
from google.protobuf import json_format
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from tensorflow_serving.apis import get_model_metadata_pb2

import kbert

from ..gate.saved_model_session import RequestError
from .gate import HTTP_STATUS, error_body
from .json_tensors import listed, parse_body, read_inputs, write_outputs
from .metrics import Metrics
from .request import Request, invalid
from .service import Service

_PAGE = pathlib.Path(__file__).parent / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# Nothing but this server's own files, nothing inline, no other page around it: a text that was taken for HTML
# could load and run nothing. https://www.w3.org/TR/CSP3/
_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
_Texts = str | list[str]


class EmbeddingsBody(BaseModel):
    """A request of OpenAI's clients; the last three fields are further ones."""

    input: _Texts
    model: str | None = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    truncate: bool = True
    truncate_prompt_tokens: int | None = Field(None, ge=2)
    prompt_name: str | None = None


class EmbedBody(BaseModel):
    """A request of Hugging Face's clients."""

    inputs: _Texts
    normalize: bool | None = None
    dimensions: int | None = None
    truncate: bool | None = None
    truncation_direction: str = "right"
    prompt_name: str | None = None


class RerankBody(BaseModel):
    """`texts` as for text-embeddings-inference, or `documents` as for Cohere."""

    query: str
    texts: list[str] | None = None
    documents: list[str | dict] | None = None
    model: str | None = None
    top_n: int | None = Field(None, ge=1)
    truncate: bool = True
    return_text: bool = False
    return_documents: bool = False


class TokenizeBody(BaseModel):
    inputs: _Texts


async def _body(request: fastapi.Request) -> bytes:
    return await request.body()


def _own(request: fastapi.Request) -> Request:
    return request.state.request


Own = Annotated[Request, Depends(_own)]


def make_app(service: Service, metrics: Metrics) -> FastAPI:
    """The application; paths run in threads, and wait there for the queue."""
    app = FastAPI(title=f"kbert serve: {service.model.name}", version=kbert.__version__, redoc_url=None)
    _add_error_handlers(app)
    _add_serving_paths(app, service)
    _add_text_paths(app, service)
    _add_server_paths(app, service, metrics)
    return app


def _add_error_handlers(app: FastAPI) -> None:
    def answer(request, status, message):
        return _json(error_body(status, message, request.url.path), status)

    @app.exception_handler(RequestError)
    async def refused(request, error):
        return answer(request, HTTP_STATUS.get(error.status, 500), error.message)

    @app.exception_handler(RequestValidationError)
    async def malformed(request, error):
        faults = [
            (".".join(map(str, fault["loc"][1:])) or "the body", fault["msg"]) for fault in error.errors()
        ]
        return answer(request, 400, "; ".join(f"{where}: {message}" for where, message in faults[:4])[:500])

    @app.exception_handler(HTTPException)
    async def unknown(request, error):
        return answer(
            request, error.status_code, f"{request.method} {request.url.path[:200]}: {error.detail}"
        )


def _add_serving_paths(app: FastAPI, service: Service) -> None:
    model = service.model

    def check(name: str, version: str | None = None):
        if name != model.name or version not in (None, str(model.version)):
            wanted = name[:100] if version is None else f"version {version[:20]} of {name[:100]}"
            raise RequestError(
                "NOT_FOUND", f"{wanted} is not served; {model.name}, version {model.version}, is."
            )

    @app.post("/v1/models/{name}:predict", tags=["TensorFlow Serving"])
    @app.post("/v1/models/{name}/versions/{version}:predict", include_in_schema=False)
    def predict(name: str, own: Own, body: Annotated[bytes, Depends(_body)], version: str | None = None):
        """`{"instances": [...]}` or `{"inputs": ...}`, and `signature_name` if it is not serving_default."""
        check(name, version)
        document = parse_body(body)
        signature, definition = model.signature(document.get("signature_name", ""))
        inputs = read_inputs(document, definition, service.limits)
        is_rows = "instances" in document
        del document  # many times as large as its arrays
        outputs = service.predict(own, signature, inputs)
        return Response(write_outputs(outputs, is_rows), media_type="application/json")

    @app.get("/v1/models/{name}", tags=["TensorFlow Serving"])
    @app.get("/v1/models/{name}/versions/{version}", include_in_schema=False)
    def status(name: str, version: str | None = None):
        """The model's status, as TensorFlow Serving gives it, and OpenAI's description of a model."""
        check(name, version)
        ok = {"error_code": "OK", "error_message": ""}
        state = {"version": str(model.version), "state": "AVAILABLE", "status": ok}
        return _json({"model_version_status": [state]} | _described(model))

    @app.get("/v1/models/{name}/metadata", tags=["TensorFlow Serving"])
    @app.get("/v1/models/{name}/versions/{version}/metadata", include_in_schema=False)
    def metadata(name: str, version: str | None = None):
        """The signatures: inputs and outputs with dtypes and shapes."""
        check(name, version)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for key, definition in model.signatures.items():
            signatures.signature_def[key].CopyFrom(definition)
        written = json_format.MessageToDict(
            signatures, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        spec = {"name": model.name, "signature_name": "", "version": str(model.version)}
        return _json({"model_spec": spec, "metadata": {"signature_def": written}})


def _add_text_paths(app: FastAPI, service: Service) -> None:
    model = service.model

    def check_model(name: str | None):
        if name is not None and name != model.name:
            raise RequestError("NOT_FOUND", f"model {name[:100]!r} is not served; {model.name!r} is.")

    def check_dimensions(dimensions: int | None, vectors):
        if dimensions not in (None, vectors.shape[1]):
            raise invalid(f"dimensions={dimensions}; this model gives {vectors.shape[1]}.")

    @app.post("/v1/embeddings", tags=["vectors"])
    def embeddings(body: EmbeddingsBody, own: Own):
        """Vectors of texts, as OpenAI's API gives them."""
        check_model(body.model)
        texts = _listed(body.input)
        vectors = service.embed(own, texts, body.truncate, body.truncate_prompt_tokens, body.prompt_name)
        check_dimensions(body.dimensions, vectors)
        if body.encoding_format == "base64":
            values = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
        else:
            values = listed(vectors)
        data = [{"object": "embedding", "index": i, "embedding": value} for i, value in enumerate(values)]
        usage = {"prompt_tokens": own.tokens, "total_tokens": own.tokens}
        return _json({"object": "list", "data": data, "model": model.name, "usage": usage})

    @app.post("/embed", tags=["vectors"])
    def embed(body: EmbedBody, own: Own):
        """Vectors of texts, as text-embeddings-inference gives them."""
        if body.truncation_direction.lower() != "right":
            raise invalid('truncation_direction: this server cuts texts at the "right" only.')
        truncate = body.truncate is not False
        vectors = service.embed(own, _listed(body.inputs), truncate, prompt_name=body.prompt_name)
        check_dimensions(body.dimensions, vectors)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if body.normalize is not False:
            vectors = vectors / np.maximum(lengths, 1e-12)
        elif np.allclose(lengths, 1, atol=1e-3):
            raise invalid("normalize=false; this model itself gives vectors of length 1.")
        return _json(listed(vectors))

    @app.post("/rerank", tags=["ranked texts"])
    @app.post("/v1/rerank", include_in_schema=False)
    def rerank(body: RerankBody, own: Own):
        """Texts ranked by how well they fit a query: `texts` gives a list, `documents` Cohere's `results`."""
        check_model(body.model)
        if (body.texts is None) == (body.documents is None):
            raise invalid("expected either texts or documents.")
        documents = body.texts if body.documents is None else body.documents
        texts = [_text(document) for document in documents or []]
        scores = service.rank(own, body.query, texts, body.truncate)
        order = np.argsort(-scores, kind="stable")[: body.top_n].tolist()
        numbers = listed(scores)
        if body.documents is None:
            shown = [{"index": i, "score": numbers[i]} for i in order]
            return _json(
                [result | ({"text": texts[result["index"]]} if body.return_text else {}) for result in shown]
            )
        results = [{"index": i, "relevance_score": numbers[i]} for i in order]
        if body.return_documents:
            results = [result | {"document": {"text": texts[result["index"]]}} for result in results]
        return _json({"model": model.name, "results": results, "usage": {"total_tokens": own.tokens}})

    @app.post("/tokenize", tags=["vectors"])
    def tokenize(body: TokenizeBody, own: Own):
        """The tokens of each text, special ones too."""
        return _json(service.pieces(own, _listed(body.inputs)))


def _add_server_paths(app: FastAPI, service: Service, metrics: Metrics) -> None:
    model = service.model

    @app.get("/v1/models", tags=["server"])
    def models():
        """The one model, as OpenAI's API lists models."""
        return _json({"object": "list", "data": [_described(model)]})

    @app.get("/info", tags=["server"])
    def info():
        """What the page is told beside the metadata: labels, thresholds, prompts, limits, special tokens."""
        settings = model.about.get("task_config")
        special = model.text_inputs and model.text_inputs.vocabulary.special_tokens._asdict()
        return _json(
            {
                "model_id": model.name,
                "version": model.version,
                "task": model.about.get("task"),
                "labels": model.about.get("labels") or None,
                "thresholds": settings.get("thresholds") if isinstance(settings, dict) else None,
                "prompts": model.prompts,
                "special_tokens": special,
                "max_input_length": model.about.get("max_seq_length"),
                "max_texts": service.limits.max_texts,
                "can": {
                    "tokenize": model.text_inputs is not None,
                    "embed": model.embedding_signature is not None,
                    "rank": model.pair_number is not None,
                },
            }
        )

    @app.get("/health", tags=["server"])
    def health():
        """200 while requests are taken."""
        return _json({"status": "stopping"}, 503) if service.is_stopping else _json({"status": "ok"})

    @app.get("/metrics", tags=["server"])
    def counters():
        """For Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/", include_in_schema=False)
    @app.get("/page/{name}", include_in_schema=False)
    def page(name: str = "index.html"):
        path = next((file for file in _PAGE.iterdir() if file.name == name and file.suffix in _TYPES), None)
        if path is None:
            raise RequestError("NOT_FOUND", f"/page/{name[:100]} does not exist.")
        return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=_PAGE_HEADERS)


def _text(document) -> str:
    text = document.get("text") if isinstance(document, dict) else document
    if not isinstance(text, str):
        raise invalid('a document is a text, or an object with "text".')
    return text


def _described(model) -> dict:
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "kbert"}


def _listed(texts: _Texts) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def _json(value, status: int = 200) -> Response:
    # An error may quote half of a surrogate pair, which a body in JSON can bring.
    body = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return Response(body, status, media_type="application/json")
