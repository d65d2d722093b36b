"""Typed questions, each of which finds its signature; the model's answers follow from the texts."""

import numpy as np
import pytest

from export.client.task_client import Answered, TaggedWord, TaskClient
from tests.export.server.page.answering_model import MODEL, WORDS


@pytest.fixture(params=["grpc", "rest"])
def ask(page_server, request):
    port = page_server.port if request.param == "grpc" else page_server.rest_api_port
    with TaskClient(f"localhost:{port}", MODEL, request.param) as client:
        yield client


def test_masks(ask):
    (first, second), none = ask.fill_masks(["A [MASK] day, a [MASK].", "a day"], top_k=3)
    assert first.tokens == second.tokens == tuple(WORDS[:3]) and none == []
    np.testing.assert_allclose(first.probabilities, [0.3, 0.2, 0.1], rtol=1e-6)
    ((words,),) = ask.fill_masks(["[MASK]"], top_k=1, whole_words=True)
    assert words.tokens == (WORDS[-1],)


def test_words(ask):
    tagged, none = ask.tag(["😀 met Ada Lovelace", ""])
    words = [("😀", 0, 1, "O"), ("met", 2, 5, "O"), ("Ada", 6, 9, "B-PER"), ("Lovelace", 10, 18, "I-PER")]
    sure = [pytest.approx(1 / (1 + len(word))) for word, *_ in words]
    assert tagged == [TaggedWord(*word, odds) for word, odds in zip(words, sure, strict=True)]
    assert none == []


def test_questions_choices_and_numbers(ask):
    found = ask.answer_questions([("seven", "😀 A moving film."), ("seven", "😀")])
    assert list(found) == [Answered("A mov", 2, 7, 1.75), Answered("", 0, 0, 0.0)]
    assert list(ask.choose([("It is", ["good", "rather bad"]), ("So", ["a", "b", "long"])])) == [1, 2]
    (vector,) = ask.embed(["abca"])
    assert vector.dtype == np.float32 and vector.tolist() == [2.0, 1.0, 1.0, *[0.0] * 23]
    assert list(ask.number(["ab", "b"], ["a", "b"], output="cosine")) == pytest.approx([0.5**0.5, 1.0])
