"""Typed questions to models of several tasks: each finds its signature, and gives what Python gives."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from export.client.task_client import TaskClient
from export.server.composition import Server, ServerOptions
from export.server.models.model_settings import ModelSettings
from kbert.tasks import TASKS
from kbert.tasks.question_answering import QuestionAnswering
from kbert.tasks.sequences.multiple_choice import MultipleChoice
from tests.kbert.inference.random_model import random_task_model

pytestmark = pytest.mark.long  # models of five tasks are exported

MODELS = {
    "masks": lambda: TASKS["masked_lm"](),
    "words": lambda: TASKS["token_classification"](("O", "B-PER", "I-PER")),
    "questions": lambda: QuestionAnswering(max_query_length=6, doc_stride=7),
    "choices": MultipleChoice,
    "vectors": lambda: TASKS["cosine_similarity"]("mean"),
}
TEXTS = ["[MASK] jump the a", "walked [MASK] [MASK]", "the looks"]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """(model -> signature -> function in Python, address of a server of all models)."""
    settings, functions = [], {}
    for name, task in MODELS.items():
        folder, loaded = tmp_path_factory.mktemp(name), random_task_model(task())
        functions[name] = loaded.task.signatures(loaded.model, loaded.text_inputs)
        archive = keras.export.ExportArchive()
        for key, one in functions[name].items():
            if key in ("serving_default", "embedding"):
                specs = [tf.TensorSpec(shape, dtype, name=n) for n, (dtype, shape) in one.inputs.items()]
                archive.add_endpoint(key, one.function, specs)
        archive.write_out(str(folder / "1"), verbose=False)
        settings.append(ModelSettings(name, str(folder)))
    server = Server(settings, ServerOptions(port=0, rest_api_port=0))
    yield functions, {"grpc": f"localhost:{server.port}", "rest": f"localhost:{server.rest_api_port}"}
    assert server.stop()


@pytest.fixture(params=["grpc", "rest"])
def ask(functions, request):
    """ask(model) -> (its client, its functions)."""
    clients = []

    def of(model):
        clients.append(TaskClient(functions[1][request.param], model, request.param))
        return clients[-1], functions[0][model]

    yield of
    for client in clients:
        client.close()


def python(signature, **inputs):
    values = signature.function(**{name: tf.constant(value) for name, value in inputs.items()})
    return {name: value.numpy() for name, value in values.items()}


def test_masks(ask):
    client, signatures = ask("masks")
    expected = python(signatures["serving_default"], text=TEXTS, top_k=3, whole_words=False)
    for row, masks in enumerate(client.fill_masks(TEXTS, top_k=3)):
        assert len(masks) == TEXTS[row].count("[MASK]")
        for number, mask in enumerate(masks):
            assert [token.encode() for token in mask.tokens] == expected["tokens"][row, number].tolist()
            np.testing.assert_allclose(mask.probabilities, expected["probabilities"][row, number], atol=1e-5)


def test_words(ask):
    client, signatures = ask("words")
    texts = ["walked and talked", "jump", ""]
    expected = python(signatures["serving_default"], text=texts)
    found = list(client.tag(texts))
    assert [[one.word for one in words] for words in found] == [["walked", "and", "talked"], ["jump"], []]
    assert [texts[0][one.start : one.end] for one in found[0]] == ["walked", "and", "talked"]
    assert [one.label.encode() for one in found[0]] == expected["labels"][0].tolist()
    np.testing.assert_allclose([one.probability for one in found[0]], expected["probabilities"][0], atol=1e-5)


def test_questions(ask):
    client, signatures = ask("questions")
    pairs = [("the looks", "walked and talked, opening the play"), ("jump", "the a")]
    questions, contexts = zip(*pairs, strict=True)
    expected = python(signatures["serving_default"], question=questions, context=contexts)
    for row, found in enumerate(client.answer_questions(pairs)):
        assert found.answer.encode() == expected["answer"][row]
        assert contexts[row][found.start : found.end] == found.answer != ""
        assert found.score == pytest.approx(expected["score"][row], abs=1e-5)


def test_choices(ask):
    client, signatures = ask("choices")
    examples = [("walked", ["jump", "the a"]), ("talked", ["the looks", "jump", "a"])]
    for (text, choices), found in zip(examples, client.choose(examples), strict=True):
        expected = python(signatures["serving_default"], text=[text], choices=[choices])
        assert found == expected["choice"][0]


def test_vectors_and_numbers(ask):
    client, signatures = ask("vectors")
    expected = python(signatures["embedding"], text=TEXTS)["embedding"]
    np.testing.assert_allclose(np.stack(list(client.embed(TEXTS))), expected, atol=1e-5)
    cosines = python(signatures["serving_default"], text=TEXTS, text_pair=TEXTS[::-1])["cosine"]
    found = list(client.number(TEXTS, TEXTS[::-1], output="cosine"))
    np.testing.assert_allclose(found, cosines, atol=1e-5)
