"""The application of the REST port: all paths, and errors in the form that each path's clients know."""

import fastapi
from fastapi import FastAPI
from starlette.exceptions import HTTPException

import kbert

from ..gate.saved_model_session import RequestError
from .errors import HTTP_STATUS, error_body
from .metrics import Metrics
from .routes.cloud import add_cloud_paths, add_vertex_paths
from .routes.messages import json_answer
from .routes.open_inference import add_open_inference_paths
from .routes.ranked_texts import add_ranking_paths
from .routes.server import add_server_paths
from .routes.tensorflow_serving import add_serving_paths
from .routes.vectors import add_vector_paths
from .service import Service
from .vertex_routes import VertexRoutes


def make_app(service: Service, metrics: Metrics, vertex: VertexRoutes) -> FastAPI:
    """The application. What asks the model runs in a thread and waits there for the queue; the rest, which
    only tells, runs on the loop: all threads may be waiting."""
    app = FastAPI(
        title=f"kbert serve: {service.model.name}",
        version=kbert.__version__,
        redoc_url=None,
        redirect_slashes=False,  # `Gate` takes them off
    )
    _add_error_handlers(app)
    add_vertex_paths(app, service, vertex)
    add_server_paths(app, service, metrics)
    add_serving_paths(app, service)
    add_vector_paths(app, service)
    add_ranking_paths(app, service)
    add_open_inference_paths(app, service)
    add_cloud_paths(app, service)
    return app


def _add_error_handlers(app: FastAPI) -> None:
    def answer(request: fastapi.Request, status, message, headers=None):
        return json_answer(error_body(status, message, request.url.path), status, headers)

    @app.exception_handler(RequestError)
    async def refused(request, error):
        return answer(request, HTTP_STATUS.get(error.status, 500), error.message)

    @app.exception_handler(HTTPException)
    async def unknown(request, error):
        message = f"{request.method} {request.url.path[:200]}: {error.detail}"
        allowed = {name.lower(): value for name, value in (error.headers or {}).items()}.get("allow")
        if request.method == "GET" and allowed == "POST":
            message += "; send it by POST"
        elif request.url.path.endswith((":classify", ":regress")):
            message += "; TensorFlow Serving answers it from the same export, here ask :predict"
        return answer(request, error.status_code, message, error.headers)
