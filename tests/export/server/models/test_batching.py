"""A batched request gets the answer that it would get alone, and others' errors are not its own."""

import threading

import numpy as np
import pytest

from export.gate.saved_model_session import RequestError, SavedModelSession
from export.server.deadline import Deadline
from export.server.models.batching import Batching
from export.server.models.runs import Runs


class CountingSession:
    """A session that notes how many rows each run has."""

    def __init__(self, session):
        self._session = session
        self.signatures = session.signatures
        self.rows = []

    def run(self, name, inputs, output_filter=(), timeout_seconds=None):
        self.rows.append(len(next(iter(inputs.values()))))
        return self._session.run(name, inputs, output_filter, timeout_seconds)


@pytest.fixture(scope="module")
def model(asked_model_dir):
    return SavedModelSession(asked_model_dir)


def ask_together(batching, signature, requests, deadline=None):
    """The answers, or errors, of requests that come at the same time."""
    answers = [None] * len(requests)

    def ask(number):
        try:
            answers[number] = batching.run(signature, requests[number], [], deadline or Deadline())
        except RequestError as error:
            answers[number] = error

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def texts(*values):
    return {"text": np.array(values, object)}


def batching_of(model, max_batch_size, seconds=20.0):
    session = CountingSession(model)
    return session, Batching(session, Runs(1), max_batch_size, seconds)


def test_texts_of_mixed_lengths_run_together_and_answers_are_their_own(model):
    requests = [texts(*("x" * (3 * number + row) for row in range(number % 3 + 1))) for number in range(9)]
    session, batching = batching_of(model, max_batch_size=18)
    answers = ask_together(batching, "serving_default", requests)
    assert session.rows == [18]
    for request, answer in zip(requests, answers, strict=True):
        alone = model.run("serving_default", request)
        np.testing.assert_allclose(answer["probabilities"], alone["probabilities"], atol=1e-5)
        assert answer["label"].tolist() == alone["label"].tolist()


def test_one_bad_request_spoils_no_other(model):
    session, batching = batching_of(model, max_batch_size=3)
    good, bad, other = ask_together(batching, "number", [texts("1"), texts("word"), texts("3")])
    assert good["number"].tolist() == [1.0] and other["number"].tolist() == [3.0]
    assert bad.status == "INVALID_ARGUMENT" and "word" in bad.message
    assert session.rows == [3, 1, 1, 1]


@pytest.mark.parametrize(
    ("signature", "requests"),
    [
        ("letters", [texts("a"), texts("longer")]),  # padded to the longest
        ("odd", [texts("a"), texts("b")]),  # an output without the batch
    ],
)
def test_answers_whose_shape_depends_on_others_run_alone(model, signature, requests):
    session, batching = batching_of(model, max_batch_size=2)
    answers = ask_together(batching, signature, requests)
    assert session.rows == [1, 1]
    for request, answer in zip(requests, answers, strict=True):
        for name, array in model.run(signature, request).items():
            assert answer[name].tolist() == array.tolist()


def test_a_request_that_is_larger_than_a_batch_is_split(model):
    session, batching = batching_of(model, max_batch_size=4)
    request = texts(*("x" * number for number in range(10)))
    (answer,) = ask_together(batching, "serving_default", [request])
    assert session.rows == [4, 4, 2]
    alone = model.run("serving_default", request)
    np.testing.assert_allclose(answer["probabilities"], alone["probabilities"], atol=1e-5)
    assert answer["label"].tolist() == alone["label"].tolist()
