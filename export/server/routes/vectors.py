"""Vectors and tokens of texts, in OpenAI's form and in that of text-embeddings-inference."""

import base64

import numpy as np
from fastapi import FastAPI

from kbert.config.vectors_config import TEXT_TASKS
from kbert.inference.quantized_vectors import quantize_embeddings
from kbert.tasks.late_interaction.late_serving import DOCUMENT
from kbert.tasks.similarity.vectors import shortened
from kbert.tasks.sparse_embedding.sparse_serving import INDICES, WEIGHTS

from ..json_body import shown
from ..json_tensors import listed
from ..prompts import Prompt, prompt_for, prompts_of_ranking
from ..ranking import compare
from ..request import Request, invalid
from ..served_model import ServedModel
from ..service import Service
from .messages import Body, Own, check_model, json_answer, listed_texts
from .text_fields import (
    BINARY,
    EmbedAllFields,
    EmbeddingsFields,
    EmbedFields,
    EmbedSparseFields,
    SimilarityFields,
    TokenizeFields,
    VectorFields,
)


def add_vector_paths(app: FastAPI, service: Service) -> None:
    """`/v1/embeddings`, `/embed`, `/embed_sparse`, `/embed_all`, `/similarity`, `/tokenize`."""

    @app.post("/v1/embeddings", tags=["vectors"], **EmbeddingsFields.described())
    def embeddings(body: Body, own: Own):
        """Vectors of texts, as OpenAI's API gives them."""
        fields = EmbeddingsFields.read(body)
        most = fields.truncate_prompt_tokens
        vectors = _vectors(service, own, fields, fields.input, None if most == -1 else most)
        vectors = _finished(service.model, vectors, fields.dimensions, fields.normalize)
        values = _written(vectors, fields.encoding_format, fields.output_dtype)
        data = [{"object": "embedding", "index": i, "embedding": value} for i, value in enumerate(values)]
        usage = {"prompt_tokens": own.tokens, "total_tokens": own.tokens}
        return json_answer({"object": "list", "data": data, "model": service.model.name, "usage": usage})

    @app.post("/embed", tags=["vectors"], **EmbedFields.described())
    def embed(body: Body, own: Own):
        """Vectors of texts, as text-embeddings-inference gives them: scaled to length 1 by default."""
        return json_answer(embedded(service, own, EmbedFields.read(body)))

    @app.post("/embed_sparse", tags=["vectors"], **EmbedSparseFields.described())
    def embed_sparse(body: Body, own: Own):
        """The words of each text whose weight is not 0: a list of `index` and `value`, the largest first."""
        return json_answer(embedded_sparsely(service, own, EmbedSparseFields.read(body)))

    @app.post("/embed_all", tags=["vectors"], **EmbedAllFields.described())
    def embed_all(body: Body, own: Own):
        """A vector for each token of a text that is compared: a list of them for each text."""
        return json_answer(embedded_by_token(service, own, EmbedAllFields.read(body)))

    @app.post("/similarity", tags=["vectors"], **SimilarityFields.described())
    def similarity(body: Body, own: Own):
        """How alike each of `sentences` is to `source_sentence`, by their vectors."""
        return json_answer(compared(service, own, SimilarityFields.read(body)))

    @app.post("/tokenize", tags=["vectors"], **TokenizeFields.described())
    def tokenize(body: Body, own: Own):
        """All tokens of each text, behind its prompt, also those that the model does not read; of a model of
        token vectors those that it reads."""
        fields = TokenizeFields.read(body)
        check_model(service.model, fields.model)
        prompt, most = _prompt_and_length(service.model, fields.prompt_name)
        pieces = service.pieces(own, prompt.before(listed_texts(fields.inputs)), most)
        if not fields.add_special_tokens:
            pieces = [[piece for piece in row if not piece["special"]] for row in pieces]
        return json_answer(pieces)


def _prompt_and_length(model: ServedModel, name: str | None) -> tuple[Prompt, int | None]:
    """What comes before a text whose tokens are asked for, and the most tokens if texts differ in that."""
    if not model.gives_token_vectors:
        return prompt_for(model, name), None
    by_task = dict(zip(TEXT_TASKS, prompts_of_ranking(model), strict=True))
    task = name or DOCUMENT
    if task not in by_task:
        raise invalid(f"prompt_name={shown(task)}; expected {' or '.join(map(shown, by_task))}.")
    return by_task[task], model.longest(task)


def words(indices: np.ndarray, weights: np.ndarray) -> list[dict]:
    """The words of a text as text-embeddings-inference gives them."""
    real = weights > 0
    pairs = zip(indices[real].tolist(), listed(weights[real]), strict=True)
    return [{"index": index, "value": value} for index, value in pairs]


def embedded(service: Service, own: Request, fields: EmbedFields) -> list:
    """The answer of `/embed`."""
    vectors = _vectors(service, own, fields, fields.inputs)
    return listed(_finished(service.model, vectors, fields.dimensions, fields.normalize is not False))


def embedded_sparsely(service: Service, own: Request, fields: EmbedSparseFields) -> list:
    """The answer of `/embed_sparse`."""
    fields.require_answered_by(service.model)
    prompt = prompt_for(service.model, fields.prompt_name, fields.input_type)
    rows = service.sparse_vectors(own, listed_texts(fields.inputs), fields.truncate, prompt)
    return [words(*row) for row in zip(rows[INDICES], rows[WEIGHTS], strict=True)]


def embedded_by_token(service: Service, own: Request, fields: EmbedAllFields) -> list:
    """The answer of `/embed_all`."""
    fields.require_answered_by(service.model)
    task = fields.prompt_name or DOCUMENT
    matrices = service.token_vectors(own, listed_texts(fields.inputs), task, fields.truncate)
    return [listed(matrix) for matrix in matrices]


def compared(service: Service, own: Request, fields: SimilarityFields) -> list:
    """The answer of `/similarity`."""
    fields.require_answered_by(service.model)
    prompts = (prompt_for(service.model, fields.prompt_name),) * 2
    texts, names = fields.sentences, ("source_sentence", "sentences")
    return listed(compare(service, own, fields.source_sentence, texts, fields.truncate, prompts, names))


def _vectors(service, own, fields: VectorFields, texts, max_tokens=None) -> np.ndarray:
    model = service.model
    fields.require_answered_by(model)
    if fields.dimensions is not None and fields.dimensions > (model.width or fields.dimensions):
        raise invalid(f"dimensions={shown(fields.dimensions)}; this model gives {model.width}.")
    prompt = prompt_for(model, fields.prompt_name, fields.input_type)
    return service.embed(own, listed_texts(texts), fields.truncate, max_tokens, prompt)


def _finished(model, vectors: np.ndarray, dimensions: int | None, normalize: bool | None) -> np.ndarray:
    """The first numbers of vectors, of length 1 where it is asked for; None takes the model's own.

    Raises:
      RequestError: it is refused, but the model itself gives such vectors.
    """
    are_units = np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    if normalize is False and (model.normalizes or are_units):
        raise invalid(
            "normalize=false; this model itself gives vectors of length 1, and those before are not served; "
            "leave it out, or send true."
        )
    if normalize is None and dimensions:
        normalize = model.normalizes or are_units
    return np.asarray(shortened(vectors, dimensions or vectors.shape[1], bool(normalize)))


def _written(vectors: np.ndarray, encoding: str, dtype: str) -> list:
    """Each vector in the form that is asked for: numbers, or their bytes in base64."""
    precision = encoding if encoding in BINARY else dtype
    numbers = vectors if precision == "float" else quantize_embeddings(vectors, precision)
    if encoding != "base64":
        return numbers.tolist() if numbers.dtype.kind in "iu" else listed(numbers)
    little = numbers.astype(numbers.dtype.newbyteorder("<"))
    return [base64.b64encode(row.tobytes()).decode() for row in little]
