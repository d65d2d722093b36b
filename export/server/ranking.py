"""Texts ranked by a query: by a cross-encoder's number for each pair, or by how near the vectors are."""

import numpy as np

from kbert.features import WINDOW_FEATURE
from kbert.tasks.late_interaction.late_serving import DOCUMENT, QUERY
from kbert.tasks.late_interaction.maxsim import maxsim
from kbert.tasks.similarity.vectors import similarities
from kbert.tasks.sparse_embedding.sparse_serving import INDICES, WEIGHTS
from kbert.tasks.sparse_embedding.sparse_similarities import as_rows, sparse_similarities

from ..gate.saved_model_session import RequestError
from .prompts import Prompt, prompts_of_ranking
from .request import Request, invalid, require_whole
from .service import Service

_PART = 128  # texts whose vectors of tokens are held at once
_RAW = "logits"  # a signature has it where its number is an activation of another


def rank(
    service: Service,
    request: Request,
    query: str,
    texts: list[str],
    truncate: bool = True,
    raw: bool = False,
    max_tokens_per_text: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(how well each text fits the query, float32 (texts,); the positions of the texts, the best first).

    A model that gives pairs a number is asked for it; where that is an activation of another one, the other
    one orders the texts: a sigmoid makes large ones equal. One that gives vectors compares those, the query
    with its prompt `query` before it and the texts with theirs, by the model's own similarity; sparse vectors
    by their dot product, vectors of tokens by MaxSim.

    Args:
      service: has the model.
      request: is told the tokens of the pairs, or of the query and the texts where each has a vector.
      query, texts: as they came.
      truncate: whether a pair may be cut.
      raw: the numbers before the model's activation, where it has one.
      max_tokens_per_text: of each text no more are to be read.

    Raises:
      RequestError: the model does neither; something is too long, or would have to be cut by itself.
    """
    model = service.model
    if max_tokens_per_text is not None and max_tokens_per_text < model.most_tokens:
        _require_no_longer(service, texts, max_tokens_per_text)
    if model.gives_token_vectors:
        numbers = scores = _by_token_vectors(service, request, query, texts, truncate)
    elif model.ranks_by_vectors:
        prompts = prompts_of_ranking(model)
        numbers = scores = compare(service, request, query, texts, truncate, prompts, ("query", "texts"))
    elif model.ids_signature(INDICES):
        numbers = scores = _by_sparse_vectors(service, request, query, texts, truncate)
    elif model.pair_number is None:
        raise RequestError(
            "NOT_FOUND", f"{model.name} gives no number for pairs of texts, and no vectors of them."
        )
    else:
        numbers, scores = _by_pairs(service, request, query, texts, truncate)
    return numbers if raw else scores, np.argsort(-numbers, kind="stable")


def compare(
    service: Service,
    request: Request,
    source: str,
    texts: list[str],
    truncate: bool,
    prompts: tuple[Prompt, Prompt],
    names: tuple[str, str],
) -> np.ndarray:
    """How alike each text is to the source, float32 (texts,), by the model's own similarity.

    Args:
      service: has the model.
      request: is told the tokens.
      source, texts: as they came.
      truncate: whether a text may be cut.
      prompts: come before the source and before each text.
      names: what an error calls them.
    """
    (before_source, before_text), (source_name, texts_name) = prompts, names
    vectors = service.embed(request, texts, truncate, None, before_text, f"{texts_name}[{{}}]".format)
    first = service.embed(request, [source], truncate, None, before_source, source_name.format)
    return similarities(first, vectors, service.model.similarity)[0]


def _require_no_longer(service, texts, most):
    """Raises `RequestError` where a text has more tokens, [CLS] and [SEP] among them, than are to be read."""
    encoded = service.checked(texts)
    # No text has more of them than bytes, [CLS], [SEP] and a mark of its beginning.
    is_longer = max(map(len, encoded)) + 3 > most
    if is_longer and service.model.text_inputs is not None:
        tokens, _ = service.model.text_inputs.tokenize(list(encoded))  # uncut: windows read all
        is_longer = (tokens.row_lengths().numpy() + 2 > most).any()
    if is_longer:
        raise invalid(
            f"max_tokens_per_doc={most}: a text has more, and this server cuts texts only where the model "
            "does; shorten the documents, or leave it out."
        )


def _by_token_vectors(service, request, query, texts, truncate):
    service.checked(texts)  # in parts below: the matrices of all may be more than an answer may have
    first = service.token_vectors(request, [query], QUERY, truncate, "query".format)
    longest, scores = service.model.longest(), []
    num_bytes = 4 * (first[0].shape[1] + 1) * longest + 1 if longest else 1  # bytes: vectors, mask, truncated
    part = max(1, min(_PART, service.limits.max_answer_bytes // num_bytes))
    for start in range(0, len(texts), part):
        matrices = service.token_vectors(
            request,
            texts[start : start + part],
            DOCUMENT,
            truncate,
            lambda index, start=start: f"texts[{start + index}]",
        )
        scores.append(maxsim(first, matrices, service.model.similarity == "meanmaxsim")[0])
    return np.concatenate(scores)


def _by_sparse_vectors(service, request, query, texts, truncate):
    first, second = prompts_of_ranking(service.model)
    documents = service.sparse_vectors(request, texts, truncate, second)
    both = service.sparse_vectors(request, [query], truncate, first, "query".format), documents
    width = 1 + max(int(vectors[INDICES].max()) for vectors in both)
    queries, texts = (as_rows(vectors[INDICES], vectors[WEIGHTS], width) for vectors in both)
    return sparse_similarities(queries, texts, service.model.similarity)[0]


def _by_pairs(service, request, query, texts, truncate):
    """The numbers before the activation, and behind it; twice the same where there is none."""
    model = service.model
    signature, output = model.pair_number
    names = (_RAW, output) if _RAW in model.signatures[signature].outputs else (output,)
    answer = _pair_outputs(service, request, query, texts, truncate, names)
    numbers = service.finite(answer[names[0]].reshape(-1))
    return numbers, answer[output].reshape(-1)


def _pair_outputs(service, request, query, texts, truncate, names):
    model = service.model
    inputs = {"text_pair": service.checked(texts), "text": service.checked([query]).repeat(len(texts))}
    if model.text_inputs is None:
        return _in_graph(service, request, inputs, truncate, names)
    rows, truncated = service.tokenized(request, inputs["text"], inputs["text_pair"])
    _require_whole(truncated, truncate)
    by_ids = model.ids_signature(names[0])
    if by_ids and WINDOW_FEATURE not in rows:
        request.cut += int(truncated.sum())
        return service.run_rows(request, by_ids, rows, names)
    answer = _in_graph(service, request, inputs, truncate, names)
    request.texts, request.tokens, request.is_estimated = len(texts), int(rows["input_mask"].sum()), False
    return answer


def _in_graph(service, request, inputs, truncate, names):
    signature, _ = service.model.pair_number
    others = {"truncated"} & set(service.model.signatures[signature].outputs)
    answer = service.predict(request, signature, inputs, (*names, *others))
    if others:
        _require_whole(answer["truncated"], truncate)
    return answer


def _require_whole(truncated, truncate):
    require_whole(
        truncated,
        truncate,
        lambda index: f"texts[{index}] and the query are too long together; allow truncation.",
    )
