"""What the paths have in common: the body, the record of a request, the model asked for, JSON answers."""

import json
from typing import Annotated

import fastapi
from fastapi import Depends, Response

from ...gate.saved_model_session import RequestError
from ..request import Request
from ..served_model import ServedModel


async def _body(request: fastapi.Request) -> bytes:
    return await request.body()


def _own(request: fastapi.Request) -> Request:
    return request.state.request


def _path_part(name: str):
    async def part(request: fastapi.Request) -> str | None:
        return request.path_params.get(name)

    return Depends(part)


Body = Annotated[bytes, Depends(_body)]
Own = Annotated[Request, Depends(_own)]
# What some forms of a path lack; parameters with a default would then be read from the query.
Name = Annotated[str | None, _path_part("name")]
Version = Annotated[str | None, _path_part("version")]


def json_answer(value, status: int = 200, headers=None) -> Response:
    """A value as the JSON of an answer."""
    # An error may quote half of a surrogate pair, which a body in JSON can bring.
    body = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return Response(body, status, headers, media_type="application/json")


def check_model(model: ServedModel, name: str | None, version: str | None = None) -> None:
    """Raises `RequestError` where another model or version is asked for; None asks for any."""
    if name not in (None, model.name):
        raise RequestError("NOT_FOUND", f"model {name[:100]!r} is not served; {model.name!r} is.")
    if version not in (None, str(model.version)):
        raise RequestError(
            "NOT_FOUND", f"version {version[:20]} of {model.name} is not served; version {model.version} is."
        )


def described(model: ServedModel) -> dict:
    """A model as OpenAI's API describes it."""
    return {"id": model.name, "object": "model", "created": 0, "owned_by": "kbert"}


def listed_texts(texts: str | list[str]) -> list[str]:
    """A text or several, as a list."""
    return [texts] if isinstance(texts, str) else texts
