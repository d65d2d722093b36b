"""Asking a model again traces nothing: tracing takes half a second, and its memory is not given back."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph

import kbert
from kbert.inference.attention import compute_attention
from kbert.late_tensorflow import traced_function
from kbert.tasks import TASKS
from tests.kbert.inference.random_model import random_task_model

pytestmark = pytest.mark.slow  # traces

FILL = "jump the [MASK]"
CLASSES = ["quiet", "loud"]
# Task, its arguments, and the same kind of example in two lengths.
PREDICTED = [
    ("sequence_classification", {"labels": CLASSES}, ("jump", "a"), ("walk the a", "play the looks")),
    ("token_classification", {"labels": ["O", "B-X", "I-X"]}, "jump", "walk the a and the a"),
    (
        "question_answering",
        {"max_query_length": 4, "doc_stride": 5},
        ("jump", "walk a"),
        ("jump the", "walk the a and the a " * 9),
    ),
]
ASKED = {
    "embed": lambda loaded, text: loaded.embed(text, "cls"),
    "Predictor": lambda loaded, text: kbert.Predictor(loaded)(text=[text] * len(text)),
    "FeatureExtractor": lambda loaded, text: kbert.FeatureExtractor(loaded, pooling="mean")(
        [text] * len(text)
    ),
    "attention": lambda loaded, text: compute_attention(loaded, text),
    "embedding_model": lambda loaded, text: loaded.embedding_model()(loaded.inputs(text)),
}


@pytest.fixture
def traces(monkeypatch):
    """The names of the graphs that are made from now on."""
    names: list[str] = []
    make = FuncGraph.__init__

    def counted(self, name, *arguments, **settings):
        names.append(name)
        make(self, name, *arguments, **settings)

    monkeypatch.setattr(FuncGraph, "__init__", counted)
    return names


@pytest.mark.parametrize(
    ("task", "arguments", "short", "long"),
    [PREDICTED[0], *(pytest.param(*others, marks=pytest.mark.long) for others in PREDICTED[1:])],
)
def test_predict_traces_once(traces, task, arguments, short, long):
    loaded = random_task_model(TASKS[task](**arguments))
    loaded.predict(short)
    assert traces
    traces.clear()
    for examples in (long, [short, long, short], [long] * 40):
        loaded.predict(examples)
    assert not traces


@pytest.mark.long
def test_every_other_way_to_ask_traces_once(traces):
    loaded = random_task_model(TASKS["sequence_classification"](CLASSES))
    for name, ask in ASKED.items():
        ask(loaded, "jump")
        traces.clear()
        ask(loaded, "walk the a and the a")
        assert not traces, name


@pytest.mark.long
def test_threads_that_ask_first_are_answered_as_one_is_and_trace_once(traces):
    """Eight threads begin at once, each with another question, and all ask all of them."""
    model, texts = random_task_model(TASKS["sequence_classification"](CLASSES)), ["jump", "walk the a and"]
    asks = [(name, ASKED[name]) for name in ("embed", "Predictor", "FeatureExtractor")]
    asks += [("predict", lambda loaded, text: loaded.predict(text))]
    expected = {name: [_numbers(ask(model, text)) for text in texts] for name, ask in asks}
    number, others = len(traces), random_task_model(TASKS["sequence_classification"](CLASSES))
    others.model.set_weights(model.model.get_weights())
    together = threading.Barrier(8)

    def ask_all(first):
        together.wait()
        turns = asks[first:] + asks[:first]
        return {name: [_numbers(ask(others, text)) for text in texts] for name, ask in turns}

    with ThreadPoolExecutor(8) as threads:
        for answers in threads.map(ask_all, range(8)):
            for name, values in answers.items():
                for value, wanted in zip(values, expected[name], strict=True):
                    np.testing.assert_allclose(value, wanted, atol=1e-6, err_msg=name)
    assert len(traces) <= 2 * number


def _numbers(answer):
    """The numbers of an answer, which is a dict, a list, features or an array."""
    if isinstance(answer, dict):
        answer = list(answer["probabilities"].values())
    if isinstance(answer, list):
        return np.concatenate([np.ravel(_numbers(one)) for one in answer])
    return np.asarray(getattr(answer, "values", getattr(answer, "probabilities", answer)))


@pytest.mark.long
def test_masks_are_filled_by_one_graph(traces):
    loaded = random_task_model(TASKS["masked_lm"]())
    loaded.predict(FILL), loaded.predict({"text": FILL, "candidates": ["a", "walk"]})
    traces.clear()
    loaded.predict([FILL, f"walk the a and {FILL}"], top_k=2, whole_words=True)
    loaded.predict({"text": f"walk the a and {FILL}", "candidates": ["the", "jump", "a"]})
    assert not traces


def test_tensorflow_does_not_warn_of_the_graphs_of_many_models(caplog):
    tf.get_logger().addHandler(caplog.handler)
    for _ in range(6):
        traced_function(lambda values: values + 1, [tf.TensorSpec([None], tf.float32)])(tf.zeros(2))
    tf.get_logger().removeHandler(caplog.handler)
    assert "retracing" not in caplog.text
