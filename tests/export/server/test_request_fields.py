"""Nothing of a request is ignored that changes its answer: the table of fields, and what its errors say."""

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from export.gate.saved_model_session import RequestError
from export.server.json_tensors import TensorFields
from export.server.routes.open_inference import InferFields
from export.server.routes.text_fields import (
    EmbedAllFields,
    EmbeddingsFields,
    EmbedFields,
    EmbedSparseFields,
    PredictFields,
    RerankFields,
    SimilarityFields,
    TokenizeFields,
)

EMBED = {"inputs": "a"}
RERANK = {"query": "a", "texts": ["b"]}
TABLE = {
    "/v1/embeddings": EmbeddingsFields,
    "/embed": EmbedFields,
    "/embed_sparse": EmbedSparseFields,
    "/embed_all": EmbedAllFields,
    "/similarity": SimilarityFields,
    "/rerank": RerankFields,
    "/predict": PredictFields,
    "/tokenize": TokenizeFields,
    ":predict": TensorFields,
    "/infer": InferFields,
}


def refusal(fields, document) -> str:
    with pytest.raises(RequestError) as error:
        fields.of(document)
    assert error.value.status == "INVALID_ARGUMENT"
    return error.value.message


def test_the_page_names_every_field_of_every_path():
    page = (Path(__file__).parents[3] / "docs" / "development_server.md").read_text()
    section = page.partition("## Fields of a request")[2].partition("\n## ")[0]
    rows = [row for row in section.splitlines() if row.startswith("| `")]
    assert len(rows) == len(TABLE)
    for path, fields in TABLE.items():
        (row,) = (row for row in rows if f"{path}`" in row.split("|")[1])
        shown = re.findall(r"`([^`]+)`", row.split("|", 2)[2])
        assert set(shown) == set(fields.known()), path


@pytest.mark.parametrize("fields", TABLE.values(), ids=TABLE)
def test_null_is_as_left_out(fields):
    required = [name for name, field in fields.model_fields.items() if field.is_required()]
    document = {name: None for name in fields.known() if name not in required}
    message = refusal(fields, document)
    for name in required:
        assert f"{name} is missing" in message
    assert message and "received" not in message and "no field" not in message


@pytest.mark.parametrize(
    ("fields", "document", "words"),
    [
        (EmbeddingsFields, {"input": "a", "promt_name": "query"}, '"promt_name" is no field of this request'),
        (EmbeddingsFields, {"input": "a", "promt_name": "query"}, "did you mean prompt_name?"),
        (EmbeddingsFields, {"inputt": "a", "xyz": 1}, "did you mean input?"),
        (EmbeddingsFields, {"input": "a", "xyz": 1}, "its fields are model, truncate"),
        (EmbeddingsFields, {"input": [1, 2, 3]}, "token ids; expected texts. Clients number tokens"),
        (EmbeddingsFields, {"input": [[1, 2]]}, "With LangChain set check_embedding_ctx_length=False"),
        (EmbeddingsFields, {"input": ["a", None]}, "input[1]: received null; expected a text or"),
        (EmbeddingsFields, {"input": 3}, "input: received 3; expected a text or a list of texts"),
        (EmbeddingsFields, {"input": "a", "encoding_format": "int8"}, 'expected "float", "base64", "bin'),
        (EmbeddingsFields, {"input": "a", "truncate": "false"}, 'truncate: received "false"; expected true'),
        (EmbeddingsFields, {"input": "a", "truncate": 1}, "truncate: received 1"),
        (EmbeddingsFields, {"input": "a", "truncate": "START"}, "texts are cut at their end"),
        (EmbeddingsFields, {"input": "a", "dimensions": "8"}, 'dimensions: received "8"'),
        (EmbeddingsFields, {"input": "a", "dimensions": True}, "dimensions: received true"),
        (EmbeddingsFields, {"input": "a", "late_chunking": True}, "received true; expected false"),
        (EmbeddingsFields, {"input": "a", "truncate": True, "truncation": False}, "truncate is there too"),
        (EmbedFields, EMBED | {"truncation_direction": "Left"}, 'cuts texts at the "right" only'),
        (
            EmbeddingsFields,
            {"input": "a", "encoding_format": "binary", "output_dtype": "float"},
            "encoding_format=binary and output_dtype=float both say",
        ),
        (
            PredictFields,
            {"inputs": "a", "function_to_apply": "none", "raw_scores": False},
            'raw_scores=false and function_to_apply="none"',
        ),
        (
            PredictFields,
            {"inputs": "a", "function_to_apply": "softmax", "raw_scores": True},
            'raw_scores=true and function_to_apply="softmax", which does not ask',
        ),
        (PredictFields, {"inputs": "a", "function_to_apply": "tanh"}, 'expected "none" for raw scores, or'),
        (EmbedFields, EMBED | {"parameters": {"promt": 1}}, '"promt" is no field'),
        (EmbedFields, EMBED | {"parameters": 3}, "parameters: received 3; expected an object"),
        (SimilarityFields, {"inputs": "a"}, 'inputs: received "a"; expected an object'),
        (RerankFields, RERANK | {"rank_fields": ["a", "b"]}, "rank_fields: received a list of 2 elements"),
        (RerankFields, RERANK | {"truncation_direction": "left"}, "truncation_direction"),
        (PredictFields, EMBED | {"truncation": "only_first"}, '"longest_first" (texts are cut at their end)'),
        (RerankFields, RERANK | {"truncate_prompt_tokens": -2}, "received -2; expected a number of tokens"),
        (RerankFields, RERANK | {"max_chunks_per_doc": 10}, "max_chunks_per_doc: received 10; expected 1"),
        (RerankFields, RERANK | {"top_k": 0}, "top_k: received 0; expected a number from 1 on"),
        (RerankFields, RERANK | {"raw_scores": "true"}, 'received "true"; expected true or false'),
        (RerankFields, RERANK | {"documents": ["c"]}, "expected either texts or documents"),
        (TokenizeFields, EMBED | {"truncate": False}, '"truncate" is no field'),
        (TensorFields, {"instances": ["a"], "output_filter": ["b"]}, '"output_filter" is no field'),
    ],
)
def test_what_is_not_followed_is_named(fields, document, words):
    assert words in refusal(fields, document)


def test_a_million_faults_are_told_as_a_few():
    assert len(refusal(EmbeddingsFields, {f"x{number}": 1 for number in range(200_000)})) < 3000
    assert "input[0]: received 0.5" in refusal(EmbeddingsFields, {"input": [0.5] * 200_000})


def test_what_changes_no_answer_is_taken():
    followed = EmbeddingsFields.of({"input": "a", "user": "me", "priority": 3, "truncation": None})
    assert followed == EmbeddingsFields.of({"input": "a"})
    assert EmbeddingsFields.of({"texts": ["a"], "truncate": "NONE"}).truncate is False
    assert RerankFields.of(RERANK | {"top_k": 3, "truncation_direction": "Right"}).top_n == 3
    assert RerankFields.of(RERANK | {"api_version": 2}) == RerankFields.of(RERANK)  # Cohere's, for SageMaker
    assert not RerankFields.of(RERANK | {"truncate": False, "truncation_direction": "Left"}).truncate
    assert EmbedFields.of(EMBED | {"parameters": {"normalize": False}}).normalize is False
    parameters = {"truncation": "do_not_truncate", "padding": "max_length", "truncation_side": "left"}
    assert not PredictFields.of(EMBED | {"parameters": parameters}).truncate


@pytest.mark.parametrize("fields", [PredictFields, EmbedFields, EmbeddingsFields, RerankFields])
def test_texts_may_be_cut_where_the_model_cuts_them(fields):
    """As clients of transformers' pipelines, Cohere and vLLM say it."""
    name, most = ("truncate_prompt_tokens" if fields is RerankFields else "max_length"), 512
    document = {EmbeddingsFields: {"input": "a"}, RerankFields: RERANK}.get(fields, EMBED)
    model, windows = (SimpleNamespace(name="m", version=1, most_tokens=number) for number in (most, math.inf))
    for number in (most, 4096, -1):
        fields.of(document | {name: number, "truncation": "longest_first"}).require_answered_by(model)
    for number, served, words in (
        (511, model, "cut at 511 tokens, but .* only where the model does .*; shorten them"),
        (0, model, "cut at 0 tokens"),
        (4096, windows, "only where the model does"),
    ):
        with pytest.raises(RequestError, match=words):
            fields.of(document | {name: number}).require_answered_by(served)


def test_a_key_that_is_there_twice_is_named():
    for body in (b'{"input": "a", "input": "b"}', b'{"input": "a", "x": {"input": 1, "input": 2}}'):
        with pytest.raises(RequestError, match="the name 'input' appears twice"):
            EmbeddingsFields.read(body)
    assert EmbeddingsFields.read(b"\xef\xbb\xbf" + json.dumps({"input": "é"}).encode()).input == "é"
