"""What the server says of itself, and its page."""

import pathlib

from fastapi import FastAPI, Response

from kbert.tasks.token_classification.tag_schemes import labels_in_bioes

from ...gate.saved_model_session import RequestError
from ..json_body import shown
from ..labelling import gives_labels
from ..metrics import Metrics
from ..service import Service
from .messages import Name, described, json_answer

_PAGE = pathlib.Path(__file__).parent.parent / "page"
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


def add_server_paths(app: FastAPI, service: Service, metrics: Metrics) -> None:
    """`/v1/models`, `/info`, `/health`, `/metrics`, the page."""
    model = service.model

    @app.get("/v1/models", tags=["server"])
    async def models():
        """The one model, as OpenAI's API lists models."""
        return json_answer({"object": "list", "data": [described(model)]})

    @app.get("/info", tags=["server"])
    async def info():
        """What the page is told beside the metadata: labels, their tags with BIOES's letters where they are
        tags of entities, thresholds, prompts, limits, special tokens."""
        settings = model.about.get("task_config")
        special = model.text_inputs and model.text_inputs.vocabulary.special_tokens._asdict()
        return json_answer(
            {
                "model_id": model.name,
                "version": str(model.version),
                "task": model.about.get("task"),
                "labels": model.about.get("labels") or None,
                "tags": labels_in_bioes(model.about.get("labels") or ()),
                "thresholds": settings.get("thresholds") if isinstance(settings, dict) else None,
                "prompts": model.prompts,
                "special_tokens": special,
                "max_input_length": model.longest(),
                "max_texts": service.limits.max_texts,
                # Texts that TEI's clients send at a time, some with 5 seconds of patience; TEI says 32, too.
                "max_client_batch_size": min(32, service.limits.max_texts),
                "max_batch_tokens": service.limits.max_batch_tokens,
                "auto_truncate": True,
                "model_type": _model_type(model),
                "can": {
                    "tokenize": model.text_inputs is not None,
                    "embed": model.embedding_signature is not None,
                    "rank": model.ranks,
                },
            }
        )

    app.get("/health", tags=["server"])(health_path(service))

    @app.get("/metrics", tags=["server"])
    async def counters():
        """For Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/", include_in_schema=False)
    @app.get("/page/{name}", include_in_schema=False)
    async def page(name: Name):
        # The page itself is "/" alone: what it asks for is named from there.
        file_name = name or "index.html"
        path = next(
            (file for file in _PAGE.iterdir() if file.name == file_name and file.suffix in _TYPES), None
        )
        if path is None or name == "index.html":
            raise RequestError("NOT_FOUND", f"/page/{shown(str(name))[1:-1]} does not exist.")
        return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=_PAGE_HEADERS)


def _model_type(model) -> dict | None:
    """What a model is to text-embeddings-inference, whose clients choose by the one key; None where it is
    nothing there.

    Reference: https://huggingface.github.io/text-embeddings-inference (Info)
    """
    names = model.about.get("labels") or ["LABEL_0"]
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: id for id, name in enumerate(names)}}
    kinds = {
        "embedding": model.embedding_signature
        and {"pooling": (model.about.get("task_config") or {}).get("pooling")},
        "reranker": model.pair_number and labels,
        "classifier": gives_labels(model) and labels,
    }
    return next(({kind: known} for kind, known in kinds.items() if known), None)


def health_path(service: Service):
    """What answers `/health`."""

    async def health():
        """200 while requests are taken."""
        stopping = service.is_stopping
        return json_answer({"status": "stopping"}, 503) if stopping else json_answer({"status": "ok"})

    return health
