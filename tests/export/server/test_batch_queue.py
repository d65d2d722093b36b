"""A request gets the answer that it would get alone, whoever it runs with and however it is cut."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from export.gate.saved_model_session import RequestError, SavedModelSession
from export.server.batch_queue import BatchQueue, _sentence, is_batchable
from export.server.request import Request


class CountingSession:
    """A session that notes how many rows each run has; the first waits until it is let go."""

    def __init__(self, session):
        self._session, self.signatures = session, session.signatures
        self.rows, self.may_go = [], threading.Event()

    def run(self, name, inputs, outputs=(), timeout_seconds=None):
        self.rows.append(len(next(iter(inputs.values()))))
        self.may_go.wait(60)
        return self._session.run(name, inputs, outputs, timeout_seconds)


@pytest.fixture(scope="module")
def model(asked_model_dir):
    return SavedModelSession(asked_model_dir)


def texts(*values):
    return {"text": np.array(values, object)}


def ask_together(model, signature, requests, max_batch_tokens=100, seconds=60.0):
    """(rows of each run, answers or errors) of requests that come while one request runs."""
    session = CountingSession(model)
    queue = BatchQueue(session, max_batch_tokens, 1 << 20)
    answers = [None] * len(requests)

    def ask(number, inputs, seconds):
        tokens = [len(text) for text in inputs["text"]]
        try:
            answers[number] = queue.run(Request(seconds), signature, inputs, tokens)
        except RequestError as error:
            answers[number] = error

    threads = []
    for number, inputs in enumerate(requests):
        threads.append(threading.Thread(target=ask, args=(number, inputs, 60.0 if number == 0 else seconds)))
        threads[-1].start()
        while (len(session.rows), queue.length) != (1, number):
            pass
    if seconds < 1:
        threads[1].join()
    session.may_go.set()
    for thread in threads:
        thread.join()
    assert queue.stop(10)
    return session.rows, answers


def check(model, signature, requests, answers):
    for request, answer in zip(requests, answers, strict=True):
        for name, array in model.run(signature, request).items():
            if array.dtype == object:
                assert answer[name].tolist() == array.tolist()
            else:
                np.testing.assert_allclose(answer[name], array, atol=1e-5)


def test_what_fits_into_the_tokens_runs_together(model):
    requests = [texts("ab"), texts("x" * 30, "y" * 20), texts("z" * 40), texts("a" * 20), texts("b" * 9, "c")]
    rows, answers = ask_together(model, "serving_default", requests)
    # After the first: 50 + 40 tokens, then no room for 20, but for 10; then the 20.
    assert rows == [1, 2 + 1 + 2, 1]
    check(model, "serving_default", requests, answers)


def test_one_bad_request_spoils_no_other(model):
    requests = [texts("0"), texts("1"), texts("word"), texts("3")]
    rows, (_, good, bad, other) = ask_together(model, "number", requests)
    assert good["number"].tolist() == [1.0] and other["number"].tolist() == [3.0]
    assert bad.status == "INVALID_ARGUMENT" and "word" in bad.message
    assert rows == [1, 3, 1, 1, 1]


@pytest.mark.parametrize(
    "signature", ["letters", "odd"]
)  # padded to the longest; an output without the batch
def test_answers_whose_shape_depends_on_others_run_alone(model, signature):
    requests = [texts("a"), texts("longer"), texts("b")]
    rows, answers = ask_together(model, signature, requests)
    assert rows == [1, 1, 1]
    check(model, signature, requests, answers)


@pytest.mark.parametrize("signature", ["serving_default", "letters"])
def test_a_request_of_many_tokens_runs_in_slices(model, signature):
    request = texts(*("x" * number for number in range(1, 16)), "y" * 150)
    rows, answers = ask_together(model, signature, [texts("a")] + [request], max_batch_tokens=40)
    assert rows == [1, 8, 3, 3, 1, 1]  # 1 + ... + 8 are 36
    check(model, signature, [texts("a"), request], answers)


def test_rows_that_would_be_mostly_padding_run_apart(model):
    short, long = list("abcdefghijklmnopqrst"), "x" * 20  # 40 tokens, but 21 rows of 20
    for others in ([texts(*short, long)], [texts(*short), texts(long)]):
        requests = [texts("a"), *others]
        rows, answers = ask_together(model, "serving_default", requests, max_batch_tokens=40)
        assert rows == [1, 20, 1]
        check(model, "serving_default", requests, answers)


def ids_definition():
    definition = meta_graph_pb2.SignatureDef()
    for name in ("input_ids", "input_mask"):
        definition.inputs[name].tensor_shape.CopyFrom(tf.TensorShape([None, None]).as_proto())
    return definition


def test_ids_that_do_not_fit_their_mask_run_alone():
    """Beside others they would be padded until they fit."""
    mask = np.ones((1, 7), np.int32)
    assert is_batchable(ids_definition(), {"input_ids": mask, "input_mask": mask})
    assert not is_batchable(ids_definition(), {"input_ids": mask[:, :5], "input_mask": mask})


def test_a_slice_is_as_long_as_its_longest_row():
    shapes, definition = [], ids_definition()

    def run(name, inputs, *rest):
        shapes.append(inputs["input_ids"].shape)
        return {"embedding": inputs["input_ids"].sum(axis=1)}

    queue = BatchQueue(SimpleNamespace(signatures={"s": definition}, run=run), 40, 1 << 20)
    mask = np.zeros((21, 20), np.int32)
    mask[:, 0] = mask[20] = 1
    answer = queue.run(Request(60), "s", {"input_ids": mask, "input_mask": mask}, mask.sum(axis=1).tolist())
    assert shapes == [(20, 1), (1, 20)] and answer["embedding"].tolist() == [1] * 20 + [20]
    assert queue.stop(10)


def test_whoever_waits_too_long_gets_an_error_and_is_not_run(model):
    rows, (first, late) = ask_together(model, "serving_default", [texts("a"), texts("b")], seconds=0.05)
    assert first["label"].tolist() == [b"short"] and late.status == "DEADLINE_EXCEEDED" and rows == [1]


def test_an_answer_beyond_the_limit_is_refused(model):
    queue = BatchQueue(model, 100, 1000)
    with pytest.raises(RequestError, match="--max_answer_bytes") as error:
        queue.run(Request(60), "letters", texts("x" * 50, "y" * 50, "z" * 50), [50] * 3)
    assert error.value.status == "RESOURCE_EXHAUSTED" and queue.stop(10)
    with pytest.raises(RequestError, match="stopping"):
        queue.run(Request(60), "letters", texts("x"), [1])


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("assertion failed: [the mask is 0 at [CLS].]", "the mask is 0 at [CLS]."),
        ("assertion failed: [the same shape; received] [1 3] [1 2]", "the same shape; received [1 3] [1 2]"),
        ("Reduction axis -1 is empty", "Reduction axis -1 is empty"),
    ],
)
def test_what_a_check_in_the_graph_says_is_a_sentence(said, sentence):
    around = "Graph execution error:\n\n2 root error(s) found.\n  (0) INVALID_ARGUMENT: {}\n\t [[{{node a}}]]"
    assert _sentence(around.format(said)) == _sentence(said) == sentence
