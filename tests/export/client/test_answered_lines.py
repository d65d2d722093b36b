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


def test_only_lines_with_half_a_surrogate_pair_are_escaped():
    outputs = {"label": "naïf".encode(), "score": np.float32(0.5)}
    assert answer_line({"text": "é"}, outputs) == '{"text": "é", "label": "naïf", "score": 0.5}'
    escaped = answer_line({"text": "é\ud800"}, outputs)
    assert escaped.isascii() and json.loads(escaped)["text"] == "é\ud800"
