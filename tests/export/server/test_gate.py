"""What clients and proxies do to requests: HEAD, slashes, packed bodies, browsers' questions, waiting."""

import gzip
import inspect
import json
import zlib
from types import SimpleNamespace

import pytest
from fastapi.routing import APIRoute

from export.gate.saved_model_session import RequestError
from export.server.gate import require_key
from export.server.limits import Limits
from export.server.metrics import Metrics
from export.server.prompts import Prompt, prompt_for, prompts_of_ranking, warn_of_named_prompts
from export.server.rest_api import make_app
from export.server.running import DevelopmentServer
from export.server.unpacking import BodyRefused, unpacked
from export.server.vertex_routes import VertexRoutes
from kbert.cli.warn_once import warn_once
from kbert.config.pooling_config import PoolingConfig
from tests.export.server.asking import MODEL, TEXTS, Asked

PREDICT = f"/v1/models/{MODEL}:predict"
BODY = json.dumps({"instances": TEXTS}).encode()


def test_head_is_get_without_its_body(asked):
    for path in ("/health", "/", "/metrics", "/v1/models", f"/v1/models/{MODEL}", "/v2/health/live"):
        status, headers, content = asked.whole("HEAD", path)
        assert status == 200 and content == b""
        assert path == "/metrics" or headers["Content-Length"] == str(len(asked.whole("GET", path)[2]))
    assert asked.whole("HEAD", "/nothing")[0] == 404


def test_what_the_server_tells_of_itself_waits_for_no_thread(server):
    # All threads may be waiting for the model: monitoring would take a busy server for a dead one.
    app = make_app(server.service, Metrics(), VertexRoutes())
    told = [route for route in app.routes if isinstance(route, APIRoute) and "GET" in route.methods]
    assert len(told) > 10 and all(inspect.iscoroutinefunction(route.endpoint) for route in told)


def test_get_of_what_is_posted_says_so(asked):
    for path in (PREDICT, f"/v1/models/{MODEL}/versions/3:predict", "/rerank", "/v1/embeddings"):
        status, headers, content = asked.whole("GET", path)
        assert status == 405 and headers["Allow"] == "POST" and b"send it by POST" in content


def test_a_slash_at_the_end_changes_nothing(asked):
    assert asked.rest("GET", "/health/") == (200, {"status": "ok"})
    assert asked.post(f"{PREDICT}/", {"instances": TEXTS}) == asked.predict({"instances": TEXTS})


def test_parameters_of_the_url_are_refused_where_they_would_be_ignored(asked):
    status, answer = asked.post(f"{PREDICT}?signature_name=pair", {"instances": TEXTS})
    assert status == 400 and "signature_name: nothing of the URL is read" in answer["error"]
    assert asked.post(f"{PREDICT}?api-version=2026-01-01", {"instances": TEXTS})[0] == 200


@pytest.mark.parametrize("query", ["probe=1", "name=x", "version=99"])
def test_parameters_of_a_get_change_nothing(asked, query):
    models = (
        f"/v1/models/{MODEL}",
        f"/v1/models/{MODEL}/metadata",
        f"/v2/models/{MODEL}",
        "/v2/models/x/ready",
    )
    for path in ("/", "/health", "/v2/health/ready", *models):
        (status, _, content), (expected, _, same) = (
            asked.whole("GET", sent) for sent in (f"{path}?{query}", path)
        )
        assert (status, content) == (expected, same), path


def test_packed_bodies_are_unpacked(asked):
    expected = asked.predict({"instances": TEXTS})
    for packing, body in (
        ("gzip", gzip.compress(BODY, mtime=0)),  # without the time, so that all workers collect the same
        ("GZIP", gzip.compress(BODY[:9], mtime=0) + gzip.compress(BODY[9:], mtime=0)),
        ("deflate", zlib.compress(BODY)),
        ("identity", BODY),
    ):
        assert asked.rest("POST", PREDICT, body, [("Content-Encoding", packing)]) == expected


@pytest.mark.parametrize(
    ("packing", "body", "status", "words"),
    [
        ("br", BODY, 415, "send gzip"),
        ("gzip, gzip", BODY, 415, "send gzip"),
        ("gzip", BODY, 400, "The body is no gzip"),
        ("gzip", gzip.compress(BODY, mtime=0)[:-4], 400, "it ends too early"),
        ("gzip", gzip.compress(b" " * (1 << 21), mtime=0), 413, "--max_message_bytes"),
    ],
)
def test_other_bodies_are_refused(asked, packing, body, status, words):
    received, answer = asked.rest("POST", PREDICT, body, [("Content-Encoding", packing)])
    assert received == status and words in answer["error"]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("Host", "evil.example", "localhost"),
        ("Content-Encoding", "gzip", "identity"),
        ("Authorization", *"ab"),
    ],
)
def test_of_two_headers_of_which_one_may_come_neither_counts(asked, name, first, second):
    """RFC 9112, 3.2: a proxy may have taken the other one."""
    headers = [("Host", "localhost"), ("Connection", "close"), ("Content-Length", len(BODY))]
    headers = [header for header in headers if header[0] != name] + [(name, first), (name, second)]
    lines = [f"POST {PREDICT} HTTP/1.1", *(f"{key}: {value}" for key, value in headers), "", ""]
    answer = asked.raw("\r\n".join(lines).encode() + BODY)
    assert answer.startswith(b"HTTP/1.1 400 ") and f"2 headers {name}; send one".encode() in answer


def test_a_body_that_may_be_sent_fits_among_all_bodies(asked_model_dir):
    with pytest.raises(ValueError, match=r"max_message_bytes=11 is above max_pending_bytes=10"):
        Limits(max_message_bytes=11, max_pending_bytes=10)
    nan, inf = float("nan"), float("inf")
    for wrong in ({"max_message_bytes": 2**31, "max_pending_bytes": 2**32}, {"grace_seconds": inf},
                  {"grace_seconds": nan}, {"timeout_seconds": 1e10}, {"max_texts": 0}):  # fmt: skip
        with pytest.raises(ValueError, match="is not a limit; expected a number"):
            Limits(**wrong)
    assert Limits(grace_seconds=0, max_pending_bytes=2**32).max_pending_bytes == 2**32
    body = json.dumps({"instances": TEXTS * 20}).encode()
    limits = Limits(max_message_bytes=len(body), max_pending_bytes=len(body))
    with DevelopmentServer(asked_model_dir, MODEL, 0, 0, limits=limits) as server:
        for packing, sent in (("identity", body), ("gzip", gzip.compress(body, mtime=0))):
            asked = Asked(server.rest_api_port)
            assert asked.rest("POST", PREDICT, sent, [("Content-Encoding", packing)])[0] == 200


def test_many_parts_of_gzip_take_linear_time():
    assert unpacked(gzip.compress(b"ab") * 20_000, "gzip", 50_000) == b"ab" * 20_000
    assert unpacked(b"", "gzip", 9) == b""
    for damaged in (gzip.compress(b"ab")[:-3], gzip.compress(b"ab") + b"x", b"x" * 9):
        with pytest.raises(BodyRefused):
            unpacked(damaged, "gzip", 50_000)


def test_no_more_than_the_limit_is_unpacked():
    bomb = gzip.compress(b"a" * 1000) * 50
    assert unpacked(bomb, "gzip", 50_000) == b"a" * 50_000
    with pytest.raises(BodyRefused):
        unpacked(bomb, "gzip", 49_999)


def test_a_request_is_found_in_the_log_by_its_id(asked):
    assert asked.whole("GET", "/health", headers=[("X-Request-Id", "a-7")])[1]["X-Request-Id"] == "a-7"
    for wrong in ("a b", "x" * 129, "é"):
        assert (
            asked.whole("GET", "/health", headers=[("X-Request-Id", wrong.encode())])[1]["X-Request-Id"]
            is None
        )


def test_what_takes_too_long_says_whose_time_it_was(asked_model_dir, tmp_path):
    with DevelopmentServer(asked_model_dir, MODEL, 0, 0, limits=Limits(timeout_seconds=0.2)) as server:
        asked = Asked(server.rest_api_port)
        status, answer = asked.predict({"signature_name": "wait", "instances": [str(tmp_path / "end")]})
        (tmp_path / "end").touch()
    assert status == 504 and "longer than the 0.2 s of --rest_api_timeout_in_ms" in answer["error"]


def test_pages_of_named_origins_may_ask(asked, asked_model_dir):
    ask = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    ask["Access-Control-Request-Headers"] = "authorization,content-type"
    assert asked.whole("OPTIONS", PREDICT, headers=ask.items())[0] == 405  # off by default
    assert asked.whole("GET", "/health", headers=ask.items())[1]["Access-Control-Allow-Origin"] is None
    origins = ("https://App.example", "http://localhost:3000")
    with DevelopmentServer(asked_model_dir, MODEL, 0, 0, api_key="k", cors_origins=origins) as server:
        asked = Asked(server.rest_api_port)
        status, told, _ = asked.whole("OPTIONS", PREDICT, headers=ask.items())  # which comes without a key
        assert status == 200 and told["Access-Control-Allow-Origin"] == "https://app.example"
        assert "authorization" in told["Access-Control-Allow-Headers"]
        key = [("Origin", "https://app.example"), ("Authorization", "Bearer k")]
        status, told, _ = asked.whole("POST", PREDICT, BODY, key)
        assert status == 200 and told["Access-Control-Allow-Origin"] == "https://app.example"
        told = asked.whole("POST", PREDICT, BODY, key[:1])
        assert told[0] == 401 and told[1]["Access-Control-Allow-Origin"] == "https://app.example"
        for other in ("https://evil.example", "null"):
            told = asked.whole("GET", "/health", headers=[("Origin", other)])[1]
            assert told["Access-Control-Allow-Origin"] is None


@pytest.mark.parametrize(
    "origin",
    [
        *("app.example", "https://app.example/", "https://app.example/page", ""),
        *("https://*.app.example", "https://app.example:443", "http://app.example:80"),
    ],
)
def test_what_is_no_origin_is_refused(asked_model_dir, origin):
    with pytest.raises(ValueError, match="cors_origins=.*expected a scheme, a host"):
        DevelopmentServer(asked_model_dir, MODEL, 0, 0, cors_origins=(origin,))


def test_vertex_ai_names_paths(asked_model_dir, monkeypatch):
    monkeypatch.setenv("AIP_HEALTH_ROUTE", "/v1/endpoints/5/health/")
    monkeypatch.setenv("AIP_PREDICT_ROUTE", "/predict")
    with DevelopmentServer(asked_model_dir, MODEL, 0, 0, api_key="k") as server:
        asked = Asked(server.rest_api_port)
        assert asked.rest("GET", "/v1/endpoints/5/health") == (200, {"status": "ok"})
        key = [("Authorization", "Bearer k")]
        body = {"instances": ["ab"], "parameters": {"signature_name": "repeat", "top_k": 2}}
        assert asked.rest("POST", "/predict", body, key) == (200, {"predictions": [["ab", "ab"]]})
        status, answer = asked.rest("POST", "/predict", body | {"parameters": {"top_p": 2}}, key)
        assert status == 400 and 'parameters: "top_p" is no setting' in answer["error"]


@pytest.mark.parametrize(
    ("name", "value"), [("AIP_PREDICT_ROUTE", "predict"), ("AIP_HTTP_PORT", "80a"), ("AIP_HTTP_PORT", "0")]
)
def test_what_vertex_ai_would_not_name_is_refused(asked_model_dir, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name}='{value}'"):
        DevelopmentServer(asked_model_dir, MODEL, 0, 0)


@pytest.mark.parametrize("key", ["", " ", "secret\n", "two words", "schlüssel"])
def test_a_key_that_no_header_can_bring_is_refused(key):
    with pytest.raises(ValueError, match="expected a word of ASCII characters"):
        require_key(key, "api_key")
    require_key("s3cret-key_", "api_key")
    require_key(None, "api_key")


def test_a_prompt_of_the_name_that_a_client_sends_comes_first():
    """Nomic's prompts are called as Cohere's clients call texts; all words are of a task, as in `rank`."""
    prompts = {"search_query": "q: ", "search_document": "d: ", "clustering": "c: "}
    model = SimpleNamespace(name="m", prompts=prompts, default_prompt_name=None, counts_prompts=True)
    # Voyage's, Jina's, NVIDIA's words; sentence-transformers 5 adds empty prompts.
    for more in ({}, {"query": "", "document": ""}, {"document": "d: "}):
        for model.default_prompt_name in (None, "search_document"):
            model.prompts = prompts | more
            ranked = [prompt.text for prompt in prompts_of_ranking(model)]
            assert ranked == ["q: ", "d: "]
            for words in ("query document", "retrieval.query retrieval.passage", "query passage"):
                assert [prompt_for(model, input_type=word).text for word in words.split()] == ranked
            assert {name: prompt_for(model, input_type=name).text for name in prompts} == prompts
    model.default_prompt_name = None
    model.prompts = {
        "query": "",
        "document": "",
    }  # sentence-transformers 5 writes it
    assert prompt_for(model, input_type="clustering").text == ""


def test_prompts_that_requests_have_to_name_are_said(caplog):
    model = SimpleNamespace(prompts={"query": "q: "}, default_prompt_name=None, gives_token_vectors=False)
    warn_once.cache_clear()
    warn_of_named_prompts(model)
    assert "the model has query: for the vectors" in caplog.text
    assert "send input_type or prompt_name with each request" in caplog.text
    caplog.clear()
    for changes in ({"prompts": {}}, {"default_prompt_name": "query"}, {"gives_token_vectors": True}):
        warn_once.cache_clear()
        warn_of_named_prompts(SimpleNamespace(**vars(model) | changes))
        assert not caplog.text


def test_texts_that_clients_wrote_a_prompt_into_are_said(caplog):
    warn_once.cache_clear()
    prompt = Prompt("query", "query: ")
    assert prompt.before(["a", "query: b"]) == ["query: a", "query: query: b"] and not caplog.messages
    for _ in range(2):
        prompt.before(["query: b"])
    assert len(caplog.messages) == 1 and "most of which begin with it already" in caplog.text


def test_the_name_of_a_task_without_such_a_prompt_is_the_task():
    model = SimpleNamespace(name="m", prompts={}, default_prompt_name=None, counts_prompts=True)
    assert prompt_for(model, "query").text == ""
    model.prompts = {"query": "q: ", "document": "", "passage": "p: "}
    assert prompt_for(model, "document").text == ""  # is there, though empty
    words = ("document", "passage", "search_document", "retrieval.passage")
    assert {prompt_for(model, input_type=word).text for word in words} == {"p: "}
    assert [prompt.text for prompt in prompts_of_ranking(model)] == ["q: ", "p: "]
    del model.prompts["document"]
    assert prompt_for(model, "document").text == "p: "
    model.prompts = {"query": "q: ", "search_document": "d: "}
    assert prompt_for(model, "document").text == "d: "
    assert [prompt.text for prompt in prompts_of_ranking(model)] == ["q: ", "d: "]
    with pytest.raises(RequestError, match='prompt_name="passage"; the model has the prompts query, search'):
        prompt_for(model, "passage")


@pytest.mark.parametrize(
    ("prompts", "default"),
    [
        ({"query": "q: "}, None),
        ({"passage": "p: "}, None),
        ({"query": "q: ", "document": "d: "}, None),
        ({"clustering": "c: "}, "clustering"),  # before texts of both tasks
    ],
)
@pytest.mark.parametrize("task", ["query", "document"])
def test_a_task_without_a_prompt_of_its_own_has_the_default_as_in_embed(task, prompts, default):
    model = SimpleNamespace(name="m", prompts=prompts, default_prompt_name=default, counts_prompts=True)
    config = PoolingConfig(prompts=prompts, default_prompt_name=default)
    assert prompt_for(model, input_type=task).text == config.prompt(config.prompt_name(task))
