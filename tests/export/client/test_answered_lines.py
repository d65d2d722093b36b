"""Lines that are refused: which one it was, and what is written in its place."""

import json

import numpy as np
import pytest

from export.client.answered_lines import LineAnswers, answer_line


@pytest.mark.parametrize("bad", [None, 5, {"a": 1}, "\ud800"])
@pytest.mark.parametrize("first", [True, False])
def test_a_value_that_cannot_be_sent_is_passed_over(client, bad, first):
    texts = [bad, "a"] if first else ["a", bad]
    lines = list(LineAnswers(client, {}, keep_going=True)({"text": text} for text in texts))
    "\n".join(lines).encode("utf-8")  # as a file is written
    answers = [json.loads(line) for line in lines]
    assert [one["text"] for one in answers] == texts
    refused, answered = answers if first else answers[::-1]
    assert "input 'text'" in refused["error"] and answered["label"] == "short"


def test_an_id_is_given_back_and_not_sent(client):
    examples = [{"id": "7", "text": "a"}, {"id": "8", "text": "\ud800"}]
    first, second = map(json.loads, LineAnswers(client, {}, keep_going=True)(examples))
    assert first["id"] == "7" and first["label"] == "short"
    assert second["id"] == "8" and "input 'text'" in second["error"]


def test_only_lines_with_half_a_surrogate_pair_are_escaped():
    outputs = {"label": "naïf".encode(), "score": np.float32(0.5)}
    assert answer_line({"text": "é"}, outputs) == '{"text": "é", "label": "naïf", "score": 0.5}'
    escaped = answer_line({"text": "é\ud800"}, outputs)
    assert escaped.isascii() and json.loads(escaped)["text"] == "é\ud800"


def test_rows_are_counted_where_examples_are_no_lines(client):
    examples = [{"text": "1"}, {"text": "word"}]
    answers = LineAnswers(client, {}, "number", place="a.csv", counted="row")
    with pytest.raises(ValueError, match="(?s)^a.csv row 2: .*word"):
        list(answers(examples))
