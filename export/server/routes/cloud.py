"""One path for all requests, as Hugging Face's endpoints, SageMaker and Vertex AI have it.

References: https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-inference-code.html,
https://huggingface.co/docs/inference-providers/tasks/text-classification
"""

from fastapi import FastAPI, Response

from kbert.tasks.sparse_embedding.sparse_serving import INDICES

from ..json_body import parse_object
from ..labelling import gives_labels, is_object_of_texts, several_texts
from ..request import Request
from ..service import Service
from ..vertex_routes import VertexRoutes
from .messages import Body, Own, json_answer
from .ranked_texts import labelled, ranked
from .server import health_path
from .tensorflow_serving import predicted
from .text_fields import (
    EmbedAllFields,
    EmbedFields,
    EmbedSparseFields,
    PredictFields,
    RerankFields,
    SimilarityFields,
)
from .vectors import compared, embedded, embedded_by_token, embedded_sparsely


def add_cloud_paths(app: FastAPI, service: Service) -> None:
    """`POST /`, `/invocations`, `/ping`."""

    @app.post("/invocations", tags=["clouds"])
    def any_request(body: Body, own: Own):
        """The request of `/rerank` (with `query`), `/similarity`, `:predict` (with `instances`), or, by the
        model, of `/embed`, `/embed_sparse`, `/embed_all` or `/predict`."""
        return answered(service, own, parse_object(body))

    @app.post("/", tags=["clouds"])
    def hugging_face(body: Body, own: Own):
        """The same; the labels of one text stand in a list, where Hugging Face's clients look for them."""
        return answered(service, own, parse_object(body), in_rows=True)

    app.get("/ping", tags=["clouds"])(health_path(service))


def add_vertex_paths(app: FastAPI, service: Service, vertex: VertexRoutes) -> None:
    """Vertex AI's two, before all others: it may name any path."""
    if vertex.health:
        app.get(vertex.health, include_in_schema=False)(health_path(service))
    if vertex.predict:

        @app.post(vertex.predict, include_in_schema=False)
        def predict(body: Body, own: Own):
            return predicted(service, own, parse_object(body))


def answered(service: Service, own: Request, document: dict, in_rows: bool = False) -> Response:
    """The answer to a request that only its fields and the model tell apart; `in_rows` as for `labelled`."""
    inputs = document.get("inputs")
    sent = {name for name, value in document.items() if value is not None}
    if "query" in sent:
        return json_answer(ranked(service, own, RerankFields.of(document)))
    if isinstance(inputs, dict) and "source_sentence" in inputs:
        return json_answer(compared(service, own, SimilarityFields.of(document)))
    is_example = is_object_of_texts(inputs) and gives_labels(service.model)
    if {"instances", "signature_name"} & sent or (isinstance(inputs, dict) and not is_example):
        return predicted(service, own, document)
    if service.model.embedding_signature is not None:
        return json_answer(embedded(service, own, EmbedFields.of(document)))
    if service.model.ids_signature(INDICES):
        return json_answer(embedded_sparsely(service, own, EmbedSparseFields.of(document)))
    if service.model.gives_token_vectors:
        return json_answer(embedded_by_token(service, own, EmbedAllFields.of(document)))
    if gives_labels(service.model):
        document = document | {"inputs": several_texts(service.model, inputs)}
        return json_answer(labelled(service, own, PredictFields.of(document), in_rows))
    return predicted(service, own, document)
