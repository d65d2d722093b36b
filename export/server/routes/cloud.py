"""One path for all requests, as Hugging Face's endpoints, SageMaker and Vertex AI have it.

Reference: https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-inference-code.html
"""

from fastapi import FastAPI, Response

from ..json_body import parse_object
from ..labelling import gives_labels
from ..request import Request
from ..service import Service
from ..vertex_routes import VertexRoutes
from .messages import Body, Own, json_answer
from .ranked_texts import labelled, ranked
from .server import health_path
from .tensorflow_serving import predicted
from .text_fields import EmbedFields, PredictFields, RerankFields, SimilarityFields
from .vectors import compared, embedded


def add_cloud_paths(app: FastAPI, service: Service) -> None:
    """`POST /`, `/invocations`, `/ping`."""

    @app.post("/", tags=["clouds"])
    @app.post("/invocations", tags=["clouds"])
    def any_request(body: Body, own: Own):
        """The request of `/rerank` (with `query`), `/similarity`, `:predict` (with `instances`), or, by the
        model, of `/embed` or `/predict`."""
        return answered(service, own, parse_object(body))

    app.get("/ping", tags=["clouds"])(health_path(service))


def add_vertex_paths(app: FastAPI, service: Service, vertex: VertexRoutes) -> None:
    """Vertex AI's two, before all others: it may name any path."""
    if vertex.health:
        app.get(vertex.health, include_in_schema=False)(health_path(service))
    if vertex.predict:

        @app.post(vertex.predict, include_in_schema=False)
        def predict(body: Body, own: Own):
            return predicted(service, own, parse_object(body))


def answered(service: Service, own: Request, document: dict) -> Response:
    """The answer to a request that only its fields and the model tell apart."""
    inputs = document.get("inputs")
    sent = {name for name, value in document.items() if value is not None}
    if "query" in sent:
        return json_answer(ranked(service, own, RerankFields.of(document)))
    if isinstance(inputs, dict) and "source_sentence" in inputs:
        return json_answer(compared(service, own, SimilarityFields.of(document)))
    if {"instances", "signature_name"} & sent or isinstance(inputs, dict):
        return predicted(service, own, document)
    if service.model.embedding_signature is not None:
        return json_answer(embedded(service, own, EmbedFields.of(document)))
    if gives_labels(service.model):
        return json_answer(labelled(service, own, PredictFields.of(document)))
    return predicted(service, own, document)
