"""Vectors, ranked texts and tokens: OpenAI's, text-embeddings-inference's and Cohere's requests."""

import base64
import contextlib
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

import kbert
from export.export_savedmodel import export_savedmodel
from export.gate.saved_model_session import RequestError
from export.server import served_model
from export.server.batch_queue import BatchQueue
from export.server.limits import Limits
from export.server.routes.vectors import _finished
from export.server.running import DevelopmentServer
from export.server.served_model import ServedModel
from kbert.cli.warn_once import warn_once
from tests.export.server.asking import Asked
from tests.export.server.conftest import PROMPTS
from tests.export.server.served_task import require_the_ranks_of_python

pytestmark = pytest.mark.slow
TEXTS = ["play a day", "fluffy", "the play, the plays and the days of all the players"]


@pytest.mark.usefixtures("eager")
def test_vectors_are_those_of_python_in_every_form(vectors):
    asked, loaded = vectors
    expected = loaded.embed(TEXTS)
    status, answer = asked.post("/v1/embeddings", {"input": TEXTS, "model": "e5_tiny"})
    assert status == 200 and answer["object"] == "list" and answer["model"] == "e5_tiny"
    assert [one["index"] for one in answer["data"]] == [0, 1, 2]
    np.testing.assert_allclose([one["embedding"] for one in answer["data"]], expected, atol=1e-5)
    tokens = int(loaded.inputs(TEXTS)["input_mask"].numpy().sum())
    assert answer["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    _, answer = asked.post("/v1/embeddings", {"input": TEXTS[0], "encoding_format": "base64"})
    read = np.frombuffer(base64.b64decode(answer["data"][0]["embedding"]), "<f4")
    np.testing.assert_allclose(read, expected[0], atol=1e-5)
    _, answer = asked.post("/embed", {"inputs": TEXTS, "normalize": True})
    np.testing.assert_allclose(answer, expected, atol=1e-5)


@pytest.mark.usefixtures("eager")
def test_vectors_are_shortened_and_quantized_as_in_python(vectors):
    asked, loaded = vectors
    expected = loaded.embed(TEXTS, dimensions=3)
    for path, name in (("/embed", "inputs"), ("/v1/embeddings", "input")):
        _, answer = asked.post(path, {name: TEXTS, "dimensions": 3})
        found = answer if path == "/embed" else [one["embedding"] for one in answer["data"]]
        np.testing.assert_allclose(found, expected, atol=1e-5)
    for precision in ("binary", "ubinary"):
        bits = kbert.quantize_embeddings(loaded.embed(TEXTS), precision)
        for field in ("output_dtype", "encoding_format", "embedding_type"):
            _, answer = asked.post("/v1/embeddings", {"input": TEXTS, field: precision})
            assert [one["embedding"] for one in answer["data"]] == bits.tolist()
        body = {"input": TEXTS, "output_dtype": precision, "encoding_format": "base64"}
        (first, *_) = asked.post("/v1/embeddings", body)[1]["data"]
        assert base64.b64decode(first["embedding"]) == bits[0].tobytes()
    status, answer = asked.post("/v1/embeddings", {"input": TEXTS, "output_dtype": "int8"})
    assert status == 400 and "int8 and uint8 need the ranges of other vectors" in json.dumps(answer)


@pytest.mark.long
def test_an_export_gives_the_first_numbers(vectors, tmp_path):
    _, loaded = vectors
    expected = loaded.embed(TEXTS, dimensions=3)
    report = loaded.export(tmp_path / "short", dimensions=3)
    card = json.loads((Path(report["path"]) / "assets.extra/model_card.json").read_text())
    assert card["changed"] == ["dimensions"] and card["dimensions"] == report["dimensions"] == 3
    signatures = tf.saved_model.load(report["path"]).signatures
    found = signatures["serving_default"](text=tf.constant(TEXTS))["embedding"]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    pairs = {"text": tf.constant(TEXTS[:2]), "text_pair": tf.constant(TEXTS[1:])}
    cosines = np.sum(expected[:2] * expected[1:], axis=1)
    np.testing.assert_allclose(signatures["cosine"](**pairs)["cosine"], cosines, atol=1e-5)
    with pytest.raises(ValueError, match="dimensions=9 should be a whole number from 1 to 8, the width"):
        loaded.export(tmp_path / "none", dimensions=9)
    assert not (tmp_path / "none").exists()


@pytest.mark.long
def test_the_page_is_told_the_mask_token_and_the_tags_of_labels(page_asked):
    told = page_asked.rest("GET", "/info")[1]
    assert told["special_tokens"]["mask"] == "<mask>"
    assert told["tags"] == {"O": "O", "B-<b>long</b>": "B-<b>long</b>", "L-<b>long</b>": "E-<b>long</b>"}


def test_vectors_are_normalized_unless_the_request_says_no(page_asked):
    _, plain = page_asked.post("/embed", {"inputs": "play a day", "normalize": False})
    _, answer = page_asked.post("/embed", {"inputs": "play a day", "truncation_direction": "Right"})
    np.testing.assert_allclose(answer, np.array(plain) / 5**0.5, rtol=1e-6)  # 5 tokens


@pytest.mark.parametrize("normalizes", [True, False])
def test_vectors_of_before_their_normalization_are_not_served(normalizes):
    """Behind a cut (`truncate_dim`) their length says nothing."""
    model, cut = SimpleNamespace(normalizes=normalizes), np.full((2, 3), 0.5, np.float32)
    with pytest.raises(RequestError) if normalizes else contextlib.nullcontext():
        assert (_finished(model, cut, None, False) == cut).all()


@pytest.mark.usefixtures("eager")
def test_a_text_is_cut_as_the_request_says(vectors):
    asked, loaded = vectors
    long = " ".join(["play"] * 30)
    for path, name in (("/embed", "inputs"), ("/v1/embeddings", "input")):
        status, answer = asked.post(path, {name: ["a", long], "truncate": False})
        assert status == 400 and "texts[1] has more than the 12 tokens" in json.dumps(answer)
    body = {"input": long, "truncate_prompt_tokens": 5, "drop_params": True}  # as RAGFlow sends it
    _, answer = asked.post("/v1/embeddings", body)
    expected = loaded.with_max_seq_length(5).embed(long)
    np.testing.assert_allclose(answer["data"][0]["embedding"], expected, atol=1e-5)
    assert answer["usage"]["total_tokens"] == 5
    for most, said in ((5, 5), (10_000, 12)):
        body |= {"truncate": False, "truncate_prompt_tokens": most}
        status, answer = asked.post("/v1/embeddings", body)
        assert status == 400 and f"more than the {said} tokens" in answer["error"]["message"]
    for most, status in ((3, 400), (4, 200)):  # [CLS], "the" and [SEP] are no text
        body = {"input": "play", "prompt_name": "query", "truncate_prompt_tokens": most}
        assert asked.post("/v1/embeddings", body)[0] == status


@pytest.mark.long
def test_an_empty_prompt_stands_beside_a_default_whose_tokens_do_not_count(e5_folder, tmp_path):
    folder = shutil.copytree(e5_folder, tmp_path / "skipping")
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps(json.loads(pooling.read_text()) | {"include_prompt": False}))
    prompts = PROMPTS | {"default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    loaded = kbert.load(folder)
    with DevelopmentServer(folder, None, 0, 0) as server:
        asked = Asked(server.rest_api_port)
        for task in ("query", "document"):
            for name in ("prompt_name", "input_type"):
                status, answer = asked.post("/embed", {"inputs": TEXTS, name: task})
                assert status == 200, answer
                np.testing.assert_allclose(answer, loaded.embed(TEXTS, task=task), atol=1e-5)
        require_the_ranks_of_python(asked, loaded)
    assert not np.allclose(loaded.embed(TEXTS, task="query"), loaded.embed(TEXTS, task="document"))


@pytest.mark.long
def test_vectors_beyond_the_limit_of_answers_are_refused(e5_folder):
    four = 4 * 8 * np.float32().nbytes  # vectors of 8 numbers
    with DevelopmentServer(e5_folder, None, 0, 0, limits=Limits(max_answer_bytes=four)) as server:
        asked = Asked(server.rest_api_port)
        for number, expected in ((4, 200), (5, 413)):
            for path, body in (
                ("/v1/embeddings", {"input": ["a"] * number}),
                ("/embed", {"inputs": ["a"] * number}),
                ("/rerank", {"query": "a", "texts": ["a"] * number}),
            ):
                status, answer = asked.post(path, body)
                assert status == expected and (status == 200 or "--max_answer_bytes" in json.dumps(answer))


@pytest.mark.long
def test_tokens_beyond_the_limit_of_elements_are_refused(e5_folder):
    with DevelopmentServer(e5_folder, None, 0, 0, limits=Limits(max_elements=8)) as server:
        asked = Asked(server.rest_api_port)
        for number, expected in ((8, 200), (9, 400)):
            status, answer = asked.post("/tokenize", {"inputs": ["a"] * number})
            assert status == expected and (status == 200 or "--max_elements" in json.dumps(answer))


@pytest.mark.long
def test_prompts_come_from_the_folder_and_from_an_export_of_it(vectors, tmp_path):
    asked, loaded = vectors
    told = asked.rest("GET", "/info")[1]
    assert told["prompts"] == PROMPTS["prompts"] and told["model_type"] == {"embedding": {"pooling": "mean"}}
    _, answer = asked.post("/embed", {"inputs": "play", "prompt_name": "query"})
    np.testing.assert_allclose(answer, [loaded.embed("the play")], atol=1e-5)
    export_savedmodel(loaded, tmp_path / "e5")
    about = json.loads((tmp_path / "e5" / "1" / "assets.extra" / "kbert.json").read_text())
    assert about["prompts"] == PROMPTS["prompts"] and about["task"] == "encoder"


@pytest.mark.long
def test_an_export_without_its_vocabulary_ranks_by_no_vectors_and_a_damaged_kbert_json_is_named(
    e5_folder, tmp_path, caplog
):
    """The cosine in its graph knows neither prompts nor another similarity."""
    folder = served_model._exported(str(e5_folder), tmp_path / "1")
    extra, body = folder / "assets.extra", {"query": "play", "texts": ["a", "fluffy"]}
    (extra / "vocab.txt").unlink()
    warn_once.cache_clear()
    with DevelopmentServer(folder, "e5", 0, 0) as server:
        assert "send input_type or prompt_name with each request" in caplog.text
        assert "kbert.json describes a vocabulary that does not lie beside it" in caplog.text
        asked = Asked(server.rest_api_port)
        assert not asked.rest("GET", "/info")[1]["can"]["rank"]
        assert asked.post("/rerank", body)[0] == 404
    about = (extra / "kbert.json").read_bytes()
    (extra / "kbert.json").write_bytes(about[: len(about) // 2])
    with pytest.raises(ValueError, match="kbert.json is not valid JSON.*; copy the export again, or delete"):
        DevelopmentServer(folder, "e5", 0, 0)
    (extra / "kbert.json").unlink()
    with DevelopmentServer(folder, "e5", 0, 0) as server:  # the SavedModel alone
        assert Asked(server.rest_api_port).post("/rerank", body)[0] == 200


def test_tokens_are_those_of_the_tokenizer(vectors):
    asked, loaded = vectors
    status, (pieces,) = asked.post("/tokenize", {"inputs": "play [MASK] fluffy"})
    ids = loaded.inputs("play [MASK] fluffy")["input_ids"].numpy()[0].tolist()
    assert status == 200 and [piece["id"] for piece in pieces] == ids
    assert [piece["text"] for piece in pieces] == [loaded.vocabulary.tokens[index] for index in ids]
    assert [piece["special"] for piece in pieces] == [True, *[False] * (len(ids) - 2), True]


def test_all_tokens_say_where_they_stand_also_those_that_a_model_does_not_read(vectors):
    """In characters, as in text-embeddings-inference: clients count long texts, and cut them there."""
    asked, loaded = vectors
    text = "Play, the 😀 jump " + "walk " * 60
    status, (pieces,) = asked.post("/tokenize", {"inputs": text})
    assert status == 200 and len(pieces) > loaded.max_seq_length
    told = asked.rest("GET", "/info")[1]
    assert told["max_input_length"] == loaded.max_seq_length and told["version"] == "1"
    assert all(pieces[index]["start"] is pieces[index]["stop"] is None for index in (0, -1))
    ends = 0
    for piece in pieces[1:-1]:
        own = text[piece["start"] : piece["stop"]]
        assert ends <= piece["start"] < piece["stop"] and own == own.strip()
        assert piece["text"] in ("[UNK]", own.lower(), f"##{own.lower()}")
        ends = piece["stop"]
    (rest,) = asked.post("/tokenize", {"inputs": text[pieces[3]["start"] :]})[1]
    assert [piece["id"] for piece in rest[1:4]] == [piece["id"] for piece in pieces[3:6]]


def test_tokens_have_the_prompt_that_vectors_have(vectors, monkeypatch):
    """As in text-embeddings-inference."""
    asked, loaded = vectors

    def ids(text, **fields):
        return [piece["id"] for piece in asked.post("/tokenize", {"inputs": text} | fields)[1][0]]

    expected = loaded.inputs("the play")["input_ids"].numpy()[0].tolist()
    assert ids("play") != ids("the play") == ids("play", prompt_name="query") == expected
    monkeypatch.setattr(ServedModel, "default_prompt_name", "query")
    assert ids("play") == expected and ids("the play", prompt_name="document") == expected
    usage = asked.post("/v1/embeddings", {"input": "play"})[1]["usage"]
    assert usage["total_tokens"] == len(expected)


@pytest.mark.long
def test_texts_are_ranked_as_in_python(ranking):
    asked, loaded = ranking
    texts = ["jump the a", "walk a", "the the the the play", "jump"]
    expected = loaded.predict([("jump", text) for text in texts])
    scores = [one["prediction"] for one in expected]
    order = np.argsort(-np.array(scores)).tolist()
    status, answer = asked.post("/rerank", {"query": "jump", "texts": texts, "return_text": True})
    assert status == 200 and [one["index"] for one in answer] == order
    np.testing.assert_allclose(
        [one["score"] for one in answer], [scores[index] for index in order], atol=1e-5
    )
    assert [one["text"] for one in answer] == [texts[index] for index in order]
    pairs = int(loaded.inputs(["jump"] * len(texts), texts)["input_mask"].numpy().sum())
    assert asked.post("/rerank", {"query": "jump", "documents": texts})[1]["usage"]["total_tokens"] == pairs
    body = {"query": "jump", "documents": [{"text": text} for text in texts], "top_n": 2}
    _, answer = asked.post("/v1/rerank", body | {"return_documents": True, "model": "judge"})
    assert [one["index"] for one in answer["results"]] == order[:2]
    assert answer["results"][0]["document"] == {"text": texts[order[0]]}
    assert [one["index"] for one in loaded.rank("jump", texts)] == order


def test_numbers_that_are_not_finite_are_an_error(vectors, judge, monkeypatch):
    run = BatchQueue.run

    def damaged(*arguments):
        outputs = run(*arguments).items()
        return {
            name: value * np.float32("nan") if value.dtype.kind == "f" else value for name, value in outputs
        }

    monkeypatch.setattr(BatchQueue, "run", damaged)
    embedder, _ = vectors
    for asked, path, body in (
        (embedder, "/embed", {"inputs": "a"}),
        (embedder, "/v1/embeddings", {"input": "a", "encoding_format": "base64"}),
        (embedder, "/rerank", {"query": "a", "texts": ["b"]}),
        (embedder, "/similarity", {"inputs": {"source_sentence": "a", "sentences": ["b"]}}),
        (judge, "/predict", {"inputs": [["a", "b"]]}),
    ):
        status, answer = asked.post(path, body)
        assert status == 500 and "gives numbers that are not finite (NaN or infinite)" in json.dumps(answer)


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/v1/embeddings", b"{", 400, "The body is not valid JSON"),
        ("/v1/embeddings", {}, 400, "input is missing; expected a text"),
        ("/v1/embeddings", {"input": [[1, 2]]}, 400, "check_embedding_ctx_length=False"),
        ("/v1/embeddings", {"input": "a", "model": "gpt"}, 404, "'e5_tiny' is"),
        ("/v1/embeddings", {"input": "a", "dimensions": 9}, 400, "this model gives 8"),
        ("/v1/embeddings", {"input": "a", "truncate_prompt_tokens": 1}, 400, "greater than or equal to 2"),
        (
            "/v1/embeddings",
            {"input": "a", "encoding_format": "binary", "output_dtype": "ubinary"},
            400,
            "send one of them",
        ),
        ("/v1/embeddings", {"input": [["a"]]}, 400, "received a list of 1 element; expected a text"),
        ("/v1/embeddings", b'{"input": "\\ud800"}', 400, "half of a surrogate pair"),
        ("/v1/embeddings", b'{"input": ' + b"[" * 50_000, 400, "body"),
        ("/embed", {"inputs": ["a" * 70_000]}, 400, "a text of 70000 bytes; this server takes up to 65536"),
        ("/embed", {"inputs": "a", "normalize": False}, 400, "this model itself gives vectors of length 1"),
        ("/embed", {"inputs": "a", "dimensions": 9}, 400, "this model gives 8"),
        ("/embed", {"inputs": "a", "truncation_direction": "Left"}, 400, "cuts texts at the"),
        ("/embed", {"inputs": ["a"] * 2049}, 400, "2049 texts; this server takes up to 2048"),
        ("/predict", {"inputs": "a"}, 404, "gives no labels for texts alone"),
        ("/rerank", {"query": "a"}, 400, "either texts or documents"),
    ],
)
def test_what_is_wrong_is_a_4xx_that_says_why(vectors, path, body, status, words):
    received, answer = vectors[0].post(path, body)
    error = answer["error"]["message"] if path.startswith("/v1") else answer["error"]
    assert received == status and words in error, answer


def test_a_key_is_asked_for(asked_model_dir):
    with DevelopmentServer(asked_model_dir, "m", 0, 0, api_key="secret") as server:
        asked = Asked(server.rest_api_port)
        for path, status in (
            ("/health", 200),
            ("/", 200),
            ("/v1/models", 401),
            ("/metrics", 401),
            ("/info", 401),
        ):
            assert asked.whole("GET", path)[0] == status, path
        for key, status in (
            ("Bearer secret", 200),
            ("bearer secret", 200),  # RFC 9110: the scheme has no case
            ("Bearer  secret", 200),
            ("Bearer other", 401),
            ("Bearer", 401),
            ("Basic secret", 401),
            ("secret", 401),
        ):
            assert asked.rest("GET", "/v1/models", headers=[("Authorization", key)])[0] == status, key
        assert asked.whole("POST", "/", b"{}")[0] == 401  # the page is open, what it asks is not


def test_the_server_describes_and_counts_itself(vectors):
    asked, _ = vectors
    assert asked.rest("GET", "/v1/models")[1]["data"][0]["id"] == "e5_tiny"
    assert asked.rest("GET", "/health") == (200, {"status": "ok"})
    described = asked.rest("GET", "/openapi.json")[1]["paths"]
    assert {"/v1/embeddings", "/rerank", "/v1/models/{name}:predict"} < set(described)
    before = asked.whole("GET", "/metrics")[2].decode()
    asked.post("/embed", {"inputs": ["play", "play " * 30]})
    asked.post("/v1/embeddings", {"input": "play " * 9, "truncate_prompt_tokens": 5})  # as was asked
    after = asked.whole("GET", "/metrics")[2].decode()

    def number(page, name):
        return next((float(line.split()[-1]) for line in page.splitlines() if line.startswith(name)), 0.0)

    for name, more in (
        ("kbert_tokens_total", 3 + 12 + 5),
        ("kbert_texts_cut_total", 1),
        ('kbert_requests_total{method="/embed",status="200"}', 1),
    ):
        assert number(after, name) - number(before, name) == more, name
