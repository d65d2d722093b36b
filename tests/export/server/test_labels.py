"""Labels with their scores, and one path for every request: text-embeddings-inference's and SageMaker's."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import kbert
from export.gate.saved_model_session import RequestError
from export.server.labelling import several_texts
from export.server.running import DevelopmentServer
from kbert.encoder import BertEncoder
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config
from tests.export.server.asking import Asked
from tests.kbert.runs.written_run import written_run
from tests.tfrecords_tools import small_corpus

TEXT, OTHER = "jump the a", "walk a"


def scores(loaded, text):
    answer = loaded.predict(text)
    return sorted(answer["probabilities"].items(), key=lambda pair: -pair[1])


@pytest.mark.long
def test_labels_come_sorted_by_their_scores(labels):
    asked, loaded = labels
    status, answer = asked.post("/predict", {"inputs": TEXT})
    assert status == 200
    for one, (label, score) in zip(answer, scores(loaded, TEXT), strict=True):
        assert one["label"] == label and one["score"] == pytest.approx(score, abs=1e-5)
    _, batch = asked.post("/predict", {"inputs": [[TEXT], [OTHER]], "truncate": None})
    assert [rows[0]["label"] for rows in batch] == [scores(loaded, text)[0][0] for text in (TEXT, OTHER)]
    _, raw = asked.post("/predict", {"inputs": TEXT, "raw_scores": True})
    exponents = np.exp([one["score"] for one in raw])
    np.testing.assert_allclose(exponents / exponents.sum(), [one["score"] for one in answer], atol=1e-5)
    parameters = {"parameters": {"function_to_apply": "none"}}
    assert asked.post("/predict", {"inputs": TEXT} | parameters)[1] == raw
    assert asked.post("/predict", {"inputs": TEXT, "function_to_apply": "softmax"})[1] == answer
    status, wrong = asked.post("/predict", {"inputs": TEXT, "function_to_apply": "sigmoid"})
    assert status == 400 and 'received "sigmoid"; this model applies "softmax"' in wrong["error"]
    _, first = asked.post("/invocations", {"inputs": TEXT, "parameters": {"top_k": 1}})
    assert first == answer[:1]
    told = asked.rest("GET", "/info")[1]
    assert told["task"] == "sequence_classification" and set(told["labels"]) == set(loaded.task.labels)
    assert told["can"] == {"tokenize": True, "embed": False, "rank": False}
    numbers = {name: number for number, name in enumerate(loaded.task.labels)}
    by_number = {str(number): name for name, number in numbers.items()}
    assert told["model_type"] == {"classifier": {"id2label": by_number, "label2id": numbers}}


@pytest.mark.long
def test_the_label_of_a_threshold_comes_first(tmp_path):
    """Alone with `top_k` of 1, it is the one that Python gives, though it is less probable."""
    vocabulary = small_corpus.vocabulary()
    task = TASKS["sequence_classification"](["ham", "spam"], takes_pairs=False, threshold=1e-6)
    model = task.build_model(BertEncoder(tiny_encoder_config(vocab_size=len(vocabulary)), dtype="float32"))
    model.trainable_variables[-1].assign([3.0, 0.0])  # the bias of the labels
    loaded = kbert.load(written_run(tmp_path / "run", task, model, vocabulary).path)
    python = loaded.predict(TEXT)
    assert python["label"] == "spam" and python["probabilities"]["spam"] < 0.5
    with DevelopmentServer(loaded.source, "ham", 0, 0) as server:
        asked = Asked(server.rest_api_port)
        for more in ({}, {"raw_scores": True}):
            _, answer = asked.post("/predict", {"inputs": TEXT} | more)
            assert [one["label"] for one in answer] == ["spam", "ham"]
            assert answer[0]["score"] < answer[1]["score"]
        _, (first,) = asked.post("/invocations", {"inputs": TEXT, "parameters": {"top_k": 1}})
        assert first["label"] == "spam"


@pytest.mark.long
def test_one_texts_labels_stand_in_a_list_where_hugging_faces_clients_look(labels):
    """`InferenceClient` of Python and of JavaScript take the first element of what `POST /` answers."""
    asked, _ = labels
    for inputs in (TEXT, [[TEXT]], {"text": TEXT, "text_pair": None}, [{"text": TEXT}]):
        assert asked.post("/", {"inputs": inputs}) == asked.post("/predict", {"inputs": [[TEXT]]})
    usual = {"truncation": True, "return_all_scores": True}
    assert asked.post("/", {"inputs": TEXT, "parameters": usual}) == asked.post("/", {"inputs": TEXT})
    _, (row,) = asked.post("/", {"inputs": TEXT, "parameters": {"top_k": 1}})
    assert row == asked.post("/predict", {"inputs": TEXT})[1][:1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("inputs", "status", "words"),
    [
        ([TEXT, OTHER], 404, "gives no labels for pairs of texts"),
        ([TEXT, OTHER, TEXT], 400, 'Several texts are [["one"], ["two"]]'),
        ([[TEXT, OTHER, TEXT]], 400, "inputs[0]: received a list of 3 elements"),
        ([[TEXT], 3], 400, "inputs[1]: received 3"),
        ([], 400, "received no text"),
        ({"text": TEXT, "text_pair": OTHER}, 404, "gives no labels for pairs of texts"),
        ({"words": TEXT}, 400, "inputs: received an object of 1 key; expected a text, or a list"),
        (None, 400, "inputs is missing; expected a text, a list of the two texts of a pair"),
    ],
)
def test_other_inputs_are_refused(labels, inputs, status, words):
    received, answer = labels[0].post("/predict", {"inputs": inputs})
    assert received == status and words in answer["error"] and answer["error_type"] == "Validation"


@pytest.mark.long
def test_one_path_takes_every_request(labels, vectors, ranking):
    for path in ("/", "/invocations"):
        one = {"inputs": TEXT if path == "/invocations" else [[TEXT]]}
        assert labels[0].post(path, {"inputs": TEXT}) == labels[0].post("/predict", one)
        assert vectors[0].post(path, {"inputs": TEXT}) == vectors[0].post("/embed", {"inputs": TEXT})
        others = dict.fromkeys(("query", "instances", "signature_name"))
        assert labels[0].post(path, {"inputs": TEXT} | others)[1] == labels[0].post(path, {"inputs": TEXT})[1]
        similar = {"inputs": {"source_sentence": TEXT, "sentences": [OTHER]}}
        assert vectors[0].post(path, similar) == vectors[0].post("/similarity", similar)
        ranked = {"query": TEXT, "texts": [OTHER]}
        assert ranking[0].post(path, ranked) == ranking[0].post("/rerank", ranked)
        rows = {"instances": [TEXT]}
        assert labels[0].post(path, rows) == labels[0].post("/v1/models/org/loud:predict", rows)
        for texts in ([TEXT, OTHER], [TEXT, OTHER, TEXT]):
            rows = {"inputs": [[text] for text in texts], "top_k": 1}
            several = {"inputs": texts, "parameters": {"top_k": 1}}
            assert labels[0].post(path, several) == labels[0].post("/predict", rows)
        status, answer = labels[0].post(path, {"inputs": TEXT, "raw_score": True})
        assert status == 400 and "did you mean raw_scores?" in answer["error"]
    assert labels[0].rest("GET", "/ping") == (200, {"status": "ok"})


def test_a_list_of_texts_is_a_pair_where_a_pair_is_answered():
    """Hugging Face's clients and containers send a batch of a classifier as a list of texts."""

    def model(*answered):
        shapes = {"probabilities": 2, "logits": 2, "label": 1}
        ranks = {name: SimpleNamespace(dim=[0] * rank) for name, rank in shapes.items()}
        outputs = {name: SimpleNamespace(tensor_shape=shape) for name, shape in ranks.items()}
        signatures = {str(inputs): SimpleNamespace(inputs=inputs, outputs=outputs) for inputs in answered}
        return SimpleNamespace(signatures=signatures)

    texts, pairs = ("text",), ("text", "text_pair")
    for answered, number, expected in (
        ([texts], 2, [["a"], ["a"]]),
        ([texts], 3, [["a"]] * 3),
        ([texts, pairs], 3, [["a"]] * 3),
        ([pairs], 2, ["a", "a"]),
        ([pairs], 3, [["a"]] * 3),
        ([texts], 1, [["a"]]),
        ([pairs], 1, [["a"]]),
        ([texts], 0, []),
    ):
        assert several_texts(model(*answered), ["a"] * number) == expected, (answered, number)
    for inputs in ("a", [["a"]], [["a", "b"], "c"], None, {"text": "a"}):
        assert several_texts(model(texts), inputs) == inputs
    with pytest.raises(RequestError, match="two texts in a list may be a pair or two texts"):
        several_texts(model(texts, pairs), ["a", "b"])


@pytest.mark.long
def test_texts_that_are_cut_are_counted_on_every_path(labels):
    asked, long = labels[0], "jump " * 100

    def cut():
        page = asked.whole("GET", "/metrics")[2].decode()
        return float(re.search(r"^kbert_texts_cut_total (\S+)", page, re.MULTILINE)[1])

    for path, body in (
        ("/predict", {"inputs": [[long], [TEXT], [long]]}),
        ("/v1/models/org/loud:predict", {"instances": [long, TEXT, long]}),
    ):
        before = cut()
        assert asked.post(path, body)[0] == 200 and cut() == before + 2


@pytest.mark.long
def test_a_name_may_have_a_slash(labels):
    asked, _ = labels
    for name in ("org/loud", "org%2Floud"):
        assert asked.rest("GET", f"/v1/models/{name}")[1]["id"] == "org/loud"
        assert asked.rest("GET", f"/v1/models/{name}/metadata")[1]["model_spec"]["name"] == "org/loud"
        assert asked.post(f"/v1/models/{name}/versions/1:predict", {"instances": [TEXT]})[0] == 200
        assert asked.rest("GET", f"/v2/models/{name}/versions/1/ready")[1] == {
            "name": "org/loud",
            "ready": True,
        }
    assert asked.rest("GET", "/v1/models/loud")[0] == 404
