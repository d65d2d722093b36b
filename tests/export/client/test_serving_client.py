"""The client gives the same answers over both APIs, in order, and says what is wrong."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from export.client.answered_lines import LineAnswers
from export.client.failures import RequestFailed
from export.client.retries import Retries
from export.client.serving_client import ServingClient
from tests.export.server.asking import MODEL, TEXTS

REPOSITORY = Path(__file__).resolve().parents[3]


def test_arrays_are_the_same_over_both_apis(client):
    answer = client.predict({"text": np.array(TEXTS)})
    assert answer["label"].tolist() == [b"short", b"long"]
    assert answer["probabilities"].dtype == np.float32 and answer["probabilities"].shape == (2, 2)
    # One output only: REST sends it without its name.
    pair = {"text": np.array(["a"]), "text_pair": np.array(["a"])}
    assert client.predict(pair, "pair")["same"].tolist() == [True]
    odd = client.predict({"text": np.array([b"\xfe"], object)}, "odd")
    assert odd["raw_bytes"].tolist() == [b"\xfe\xff"]


def test_signatures_are_those_of_the_metadata(client):
    signature = client.signatures["weigh"]
    assert str(signature) == "weigh (ids, weights -> half, sum)"
    assert signature.inputs["ids"].dtype == np.int32 and signature.inputs["ids"].shape == (None, None)
    with pytest.raises(ValueError, match="'length' has no signature 'none'; it has: .*pair .text, text_pair"):
        client.signatures["none"]


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_many_texts_are_answered_in_order(client, batch_size):
    texts = ["x" * (number % 17) for number in range(50)]
    answers = client.answer(({"text": text} for text in texts), batch_size=batch_size, num_parallel=3)
    expected = [b"long" if len(text) > 8 else b"short" for text in texts]
    assert [answer["label"] for answer in answers] == expected
    assert list(client.answer([])) == []


def test_what_an_example_has_finds_its_signature(client):
    (answer,) = client.answer([{"text": "a", "text_pair": "a"}])
    assert answer == {"same": True}
    # Lists of other lengths cannot share a request.
    rows = [{"ids": [1, 2], "weights": [0.5, 1.0]}, {"ids": [3], "weights": [2]}]
    if client._transport.name == "gRPC":  # JSON has no half
        sums = [answer["sum"].tolist() for answer in client.answer(rows)]
        assert sums == [[0.5, 2.0], [6.0]]
    with pytest.raises(
        ValueError, match="has no signature that takes context, question; it has: .*serving_def"
    ):
        next(client.answer([{"context": "a", "question": "b"}]))
    with pytest.raises(ValueError, match="takes int32; received"):
        next(client.answer([{"ids": [1.5], "weights": [2.0]}]))
    with pytest.raises(ValueError, match="an example with words; expected text, as the first has"):
        list(client.answer([{"text": "a"}, {"words": "a"}]))


def test_a_typed_question_that_the_model_does_not_answer_is_refused(client):
    with pytest.raises(ValueError, match="no signature that takes text and answers embedding"):
        next(client.embed(TEXTS))
    with pytest.raises(ValueError, match="received one text, 'short'; expected a list"):
        client.embed("short").send(None)


def test_a_version_or_a_label_answers(address):
    for api, server in address.items():
        for choice in ({"version": 1}, {"version_label": "stable"}):
            with ServingClient(server, MODEL, api, **choice) as client:
                assert client.predict({"text": np.array(["a"])})["label"].tolist() == [b"long"]
        with (
            ServingClient(server, MODEL, api, version=7) as client,
            pytest.raises(ValueError, match="no such version of model 'length' .*, 7.*GET /v1/models/length"),
        ):
            client.predict({"text": np.array(["a"])})
    with pytest.raises(ValueError, match="give one of them"):
        ServingClient("localhost:1", MODEL, version=1, version_label="a")


@pytest.mark.parametrize("api", ["grpc", "rest"])
def test_what_is_wrong_is_told(address, api):
    text = {"text": np.array(["a"])}
    with pytest.raises(ConnectionError, match="No server answers .* at localhost:1 .*Start one"):
        ServingClient("localhost:1", MODEL, api, max_attempts=1).predict(text)
    with pytest.raises(ValueError, match="has no model named 'x' .*--model_name"):
        ServingClient(address[api], "x", api).predict(text)
    client = ServingClient(address[api], MODEL, api)
    with pytest.raises(ValueError, match=r"(text_pair.*asked signature 'pair' with text <U1 \[1\])"):
        client.predict(text, "pair")
    slow = ServingClient(address[api], MODEL, api, timeout_seconds=0.2)
    assert "work" in slow.signatures
    with pytest.raises(TimeoutError, match="gave no answer over .* in time"):
        slow.predict({"text": np.array(["20000"])}, "work")


# Retries


class Server:
    """Fails with these statuses, then answers; time is what it was told to wait."""

    def __init__(self, *statuses):
        self.statuses = list(statuses)
        self.waits, self.now, self.left = [], 0.0, []

    def ask(self, seconds):
        self.left.append(seconds)
        if self.statuses:
            raise RequestFailed(self.statuses.pop(0), "busy")
        return "answer"

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds

    def retries(self, max_attempts):
        return Retries(max_attempts, clock=lambda: self.now, sleep=self.sleep)


def test_a_busy_server_is_asked_again_after_longer_and_longer_waits():
    server = Server("UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE")
    assert server.retries(4).call(server.ask, 10.0) == "answer"
    for wait, longest in zip(server.waits, (0.1, 0.2, 0.4), strict=True):
        assert longest / 2 <= wait <= longest
    assert server.left[0] == 10.0 and server.left[-1] == pytest.approx(10.0 - sum(server.waits))


# Lines


def test_a_refused_line_is_named_and_may_be_passed_over(client):
    examples = [{"text": str(number)} for number in range(10)]
    examples[6] = {"text": "word"}
    answers = LineAnswers(client, {}, "number", batch_size=4, num_parallel=1, place="a.jsonl")
    lines = answers(examples)
    assert [json.loads(next(lines))["number"] for _ in range(6)] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(ValueError, match="(?s)^a.jsonl line 7: .*word"):
        next(lines)
    going = LineAnswers(client, {}, "number", batch_size=4, place="a.jsonl", keep_going=True)
    written = [json.loads(line) for line in going(examples)]
    assert [row.get("number") for row in written] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, None, 7.0, 8.0, 9.0]
    assert "word" in written[6]["error"]


# The command


def ask(*arguments, stdin=""):
    return subprocess.run(
        [sys.executable, "-m", "export.serving_client", f"--model_name={MODEL}", *arguments],
        cwd=REPOSITORY,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_command_answers_lines_and_files(address, tmp_path):
    result = ask(f"--server={address['rest']}", "--api=rest", stdin="short\na much longer text\n")
    assert result.returncode == 0, result.stderr
    assert [json.loads(line)["label"] for line in result.stdout.splitlines()] == ["short", "long"]

    (tmp_path / "in.csv").write_text('label,text\nlong,"a, b"\nshort,a much longer text\n')
    files = [f"--input_file={tmp_path}/in.csv", f"--output_file={tmp_path}/out.csv"]
    result = ask(f"--server={address['grpc']}", *files)
    assert (result.returncode, result.stdout) == (0, "") and "2 texts in" in result.stderr
    header, first, _ = (tmp_path / "out.csv").read_text().splitlines()
    assert header.startswith("label,text,") and "predicted_label" in header.split(",")
    assert first.startswith('long,"a, b",') and "short" in first

    (tmp_path / "numbers.csv").write_text("text\n1\nword\n")
    numbers = [f"--input_file={tmp_path}/numbers.csv", "--signature_name=number"]
    result = ask(f"--server={address['grpc']}", *numbers)
    assert result.returncode == 1 and f"error: {tmp_path}/numbers.csv row 2: " in result.stderr


def test_no_client_imports_tensorflow(address):
    program = f"""
import sys
import numpy as np
from export.client.task_client import TaskClient
for api, address in {address!r}.items():
    with TaskClient(address, {MODEL!r}, api) as client:
        assert [one.labels for one in client.classify({TEXTS!r})] == [("short",), ("long",)]
import export.serving_client
assert "numpy" in sys.modules
assert not {{"tensorflow", "tensorflow_serving", "keras"}} & set(sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
