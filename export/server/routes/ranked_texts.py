"""Texts ranked by a query, in the forms of text-embeddings-inference, Cohere and Voyage; labels of texts."""

import uuid

from fastapi import FastAPI

from ..json_body import shown
from ..json_tensors import listed
from ..labelling import function_applied, label, read_examples
from ..ranking import rank
from ..request import Request, invalid
from ..service import Service
from .messages import Body, Own, json_answer
from .text_fields import PredictFields, RerankFields

_TEXT = "text"  # the field of a document that is ranked


def add_ranking_paths(app: FastAPI, service: Service) -> None:
    """`/rerank`, `/v1/rerank`, `/v2/rerank`, `/predict`."""

    @app.post("/rerank", tags=["ranked texts"], **RerankFields.described())
    @app.post("/v1/rerank", include_in_schema=False)
    @app.post("/v2/rerank", include_in_schema=False)
    def rerank(body: Body, own: Own):
        """Texts ranked by how well they fit a query: `texts` gives a list, `documents` Cohere's `results`."""
        return json_answer(ranked(service, own, RerankFields.read(body)))

    @app.post("/predict", tags=["labels"], **PredictFields.described())
    def predict(body: Body, own: Own):
        """Labels with their scores: the answer, then the highest; a list of such lists for a batch."""
        return json_answer(labelled(service, own, PredictFields.read(body)))


def ranked(service: Service, own: Request, fields: RerankFields) -> list | dict:
    """The answer of `/rerank`."""
    fields.require_answered_by(service.model)
    documents = (fields.texts if fields.documents is None else fields.documents) or []
    texts = [_text(index, document, fields.rank_fields[0]) for index, document in enumerate(documents)]
    scores, order = rank(
        service, own, fields.query, texts, fields.truncate, fields.raw_scores, fields.max_tokens_per_doc
    )
    order, numbers = order[: fields.top_n].tolist(), listed(scores)
    if fields.documents is None:
        shown_text = [{"text": texts[index]} if fields.return_text else {} for index in order]
        pairs = zip(order, shown_text, strict=True)
        return [{"index": index, "score": numbers[index]} | text for index, text in pairs]
    results = data = [{"index": index, "relevance_score": numbers[index]} for index in order]
    if fields.return_text:
        results = [result | {"document": _document(documents[result["index"]])} for result in results]
    meta = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
    answer = {"id": str(uuid.uuid4()), "model": service.model.name, "results": results, "meta": meta}
    answer |= {"object": "list", "data": data}  # for Voyage's client, which adds the documents itself
    if not own.is_estimated:
        meta["tokens"] = {"input_tokens": own.tokens, "output_tokens": 0}
        answer["usage"] = {"total_tokens": own.tokens}
    return answer


def labelled(service: Service, own: Request, fields: PredictFields, in_rows: bool = False) -> list:
    """The answer of `/predict`; `in_rows`: one text alone has a row in a list, as each of several has."""
    fields.require_answered_by(service.model)
    examples, is_alone = read_examples(fields.inputs)
    applied, function = function_applied(service.model), fields.function_to_apply
    if function not in (None, "none", applied):
        raise invalid(
            f"function_to_apply: received {shown(function)}; this model applies {shown(applied)}, and gives "
            'raw scores for "none".'
        )
    is_raw = fields.raw_scores or function == "none"
    answers = [
        [{"label": name, "score": listed(score)} for name, score in row[: fields.top_k]]
        for row in label(service, own, examples, fields.truncate, is_raw)
    ]
    return answers[0] if is_alone and not in_rows else answers


def _text(index: int, document: str | dict, field: str) -> str:
    if isinstance(document, str) and field == _TEXT:
        return document
    text = document.get(field) if isinstance(document, dict) else None
    if not isinstance(text, str):
        hint = "or a text" if field == _TEXT else "as rank_fields says"
        raise invalid(f"documents[{index}] has no text {shown(field)}; expected an object with it, {hint}.")
    return text


def _document(document: str | dict) -> dict:
    """A document as it comes back: all its fields."""
    return {"text": document} if isinstance(document, str) else document
