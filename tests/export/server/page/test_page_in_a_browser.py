"""The page in headless Chromium: what it shows equals what the REST API answers."""

import json
import shlex

import numpy as np
import pytest

from tests.export.server.page.answering_model import LABELS, MODEL, TOKENS

pytestmark = pytest.mark.slow
HOSTILE = '<img src=x onerror="hacked=1"> <script>hacked=1</script>'


def show(page, signature, width=390):
    """Opens the page and chooses a signature."""
    page.open(page.url, width)
    page.wait("document.querySelectorAll('#views input').length > 1")
    page.run(f"document.querySelector('#views input[value=\"{signature}\"]').click()")


def fill(page, **texts):
    for name, text in texts.items():
        page.run(f"document.querySelector('#field-{name}').select()")
        page.write(text)


def ask(page):
    """Sends the form, and waits for its answer."""
    page.run("document.querySelector('#answer').hidden = true")
    page.run("document.querySelector('#ask').click()")
    page.wait("!document.querySelector('#answer').hidden")


def texts(page, selector):
    return page.run(
        f"[...document.querySelectorAll('#answer {selector}')].map(each => each.innerText.trim())"
    )


def numbers(page):
    return [float(value) for value in page.run(
        "[...document.querySelectorAll('#answer .value')].map(each => each.dataset.value)")]  # fmt: skip


def rest(asked, signature, row):
    body = {"signature_name": signature, "instances": [row]}
    status, answer = asked.post(f"/v1/models/{MODEL}:predict", body)
    assert status == 200, answer
    return answer["predictions"][0]


def check_labels(page, asked):
    text = "a text of some length"
    fill(page, text=text)
    ask(page)
    answer = rest(asked, "serving_default", text)
    order = np.argsort(answer["probabilities"])[::-1]
    assert numbers(page) == [answer["probabilities"][index] for index in order]
    assert texts(page, ".name") == [LABELS[index] for index in order]
    assert texts(page, ".chosen .name") == texts(page, ".headline") == [answer["label"]] == [LABELS[1]]


def check_several(page, asked):
    fill(page, text="twelve signs")
    ask(page)
    given = [label for label in rest(asked, "several", "twelve signs")["labels"] if label]
    assert given == LABELS[:2] and texts(page, ".headline") == [", ".join(given)]
    assert set(texts(page, ".chosen .name")) == set(given)
    assert "given: O from 0.25" in page.run("document.querySelector('#answer').innerText")


def check_question(page, asked):
    # The first character is two UTF-16 units: positions are code points.
    row = {"question": "seven", "context": "😀 A moving film."}
    fill(page, **row)
    ask(page)
    answer = rest(asked, "ask", row)
    assert texts(page, "mark") == texts(page, ".headline") == [answer["answer"]] == ["A mov"]
    assert texts(page, ".paragraph") == [row["context"]]
    of_texts = "[...document.querySelectorAll('textarea, #answer .headline, #answer .paragraph')]"
    assert page.run(f"{of_texts}.map(each => each.dir)") == ["auto"] * 4  # Arabic and Hebrew from the right
    fill(page, context="😀")
    ask(page)
    assert texts(page, ".headline") == ["No answer in this paragraph."] and texts(page, "mark") == []


def check_entities(page, asked):
    text = "😀 met Ada Lovelace Byron and Charles today"
    fill(page, text=text)
    ask(page)
    sure = rest(asked, "tag", text)["probabilities"]
    names = ["Ada Lovelace", "Byron", "Charles"]
    assert texts(page, ".paragraph mark") == [f"{name} <b>long</b>" for name in names]
    assert numbers(page) == [sum(sure[2:4]) / 2, sure[4], sure[6]]


def check_masks(page, asked):
    fill(page, text="A <mask> day, a <mask>.", top_k="3")
    page.run("document.querySelector('#field-whole_words').click()")
    ask(page)
    inputs = {"text": ["A <mask> day, a <mask>."], "top_k": 3, "whole_words": False}
    _, answer = asked.post(f"/v1/models/{MODEL}:predict", {"signature_name": "fill", "inputs": inputs})
    assert texts(page, ".name") == sum(answer["outputs"]["tokens"][0], [])
    assert numbers(page) == sum(answer["outputs"]["probabilities"][0], [])
    page.run("document.querySelectorAll('#answer .bars button')[5].click()")
    assert page.run("document.querySelector('#field-text').value") == "A <mask> day, a <i>dull</i>."


def check_pair(page, asked):
    row = {"text": "a plane", "text_pair": "a plain"}
    fill(page, **row)
    ask(page)
    assert numbers(page) == [rest(asked, "similar", row)]


def check_choices(page, asked):
    fill(page, text="It is", choices="good\nrather bad")
    ask(page)
    answer = rest(asked, "choose", {"text": "It is", "choices": ["good", "rather bad"]})
    assert numbers(page) == answer["probabilities"][::-1]
    assert texts(page, ".name") == ["rather bad", "good"] and texts(page, ".chosen .name") == ["rather bad"]


def check_candidates(page, asked):
    fill(page, text="It is", candidates="good")
    ask(page)
    assert texts(page, ".headline") == ["Write <mask> once, where the words are to stand."]
    fill(page, text="It is <mask>", candidates="x\ngood")
    ask(page)
    assert texts(page, ".name") == ["good", "x"] and numbers(page) == [0.5, 0.0]
    assert texts(page, ".note")[0].endswith("does not know: x")


def check_ranking(page, asked):
    lines = ["play a day", "a", "day, day"]
    fill(page, query="playing", lines="\n".join([lines[0], "", *lines[1:]]))
    ask(page)
    ranked = asked.post("/rerank", {"query": "playing", "texts": lines})[1]
    assert texts(page, ".name") == [lines[one["index"]] for one in ranked]
    np.testing.assert_allclose(numbers(page), [one["score"] for one in ranked], rtol=1e-6)


def check_by_name(page, asked):
    fill(page, input_ids="[[3, 4], [5, 6]]")
    ask(page)
    assert json.loads(texts(page, "pre")[0])["embedding"] == [3.0, 4.0]


CHECKS = {
    "serving_default": check_labels,
    "several": check_several,
    "ask": check_question,
    "tag": check_entities,
    "fill": check_masks,
    "similar": check_pair,
    "choose": check_choices,
    "weigh": check_candidates,
    "/rerank": check_ranking,
    "ids": check_by_name,
}


def test_every_view_shows_what_the_server_answers(page, page_asked):
    for signature, check in CHECKS.items():
        show(page, signature)
        check(page, page_asked)
        width = page.run("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert width[0] <= width[1], signature


def test_the_tokens_of_a_text_are_shown_while_it_is_typed(page, page_asked):
    show(page, "serving_default")
    text = "Pláying a [MASK], <b>dull</b> DAY"
    fill(page, text=text)
    expected = [
        one["text"] for one in page_asked.post("/tokenize", {"inputs": text})[1][0] if not one["special"]
    ]
    page.wait("document.querySelectorAll('.pieces span').length > 3")
    assert page.run("[...document.querySelectorAll('.pieces span')].map(one => one.textContent)") == expected
    assert set(expected) <= set(TOKENS) and expected.count("[UNK]") == page.run(
        "document.querySelectorAll('.pieces .unknown').length"
    )


def test_hostile_text_stays_text(page):
    for signature, fields in {
        "tag": ["text"],
        "ask": ["question", "context"],
        "/rerank": ["query", "lines"],
        "choose": ["text", "choices"],
    }.items():
        show(page, signature)
        fill(page, **dict.fromkeys(fields, HOSTILE + " " + "x" * 300))
        ask(page)
        assert "onerror=" in page.run("document.querySelector('#answer').innerText")
        assert page.run("document.querySelectorAll('img, main script').length") == 0
        assert page.run("typeof hacked") == "undefined"


def test_the_line_for_a_shell_is_the_request_that_was_sent(page, page_asked):
    show(page, "serving_default", 1280)
    fill(page, text='it\'s "so" long\n$(that) `it` \\ is cut ' * 4)
    ask(page)
    assert "A part was cut off" in texts(page, ".error")[0]
    line = page.run("document.querySelector('#request pre').textContent")
    program, flag, body, url = shlex.split(line)
    assert (program, flag, url) == ("curl", "-d", f"{page.url}v1/models/{MODEL}:predict")
    status, answer = page_asked.post(f"/v1/models/{MODEL}:predict", body.encode())
    assert status == 200 and answer["predictions"][0]["truncated"] is True


def test_errors_are_told_in_words(page):
    show(page, "ids")
    for ids, words in [("[[1, 2], [3]]", "The server refuses this (400): "), ("[1", "input_ids is no JSON")]:
        fill(page, input_ids=ids)
        ask(page)
        assert words in texts(page, ".error")[0]
    show(page, "/rerank")
    fill(page, lines=" \n ")
    ask(page)
    assert "Write at least one line" in texts(page, ".error")[0]
    # The browser itself notes each answer that is an error.
    assert all("status of 400" in trouble for trouble in page.troubles) and len(page.troubles) == 1
    page.troubles.clear()
    # A server with a key: the page asks for it, and takes away the links, which bring none.
    hidden = "['#key', '#links'].map(name => document.querySelector(name).hidden)"
    assert page.run(hidden) == [True, False]
    page.run("fetch = async () => Response.json({error: 'no key'}, {status: 401}), 0")
    fill(page, query="a", lines="b")
    ask(page)
    assert "no key" in texts(page, ".error")[0] and page.run(hidden) == [False, True]


def test_the_page_loads_nothing_from_elsewhere(page_asked):
    for path, kind in (
        ("/", "text/html"),
        ("/page/page.js", "text/javascript"),
        ("/page/page.css", "text/css"),
    ):
        status, headers, _ = page_asked.whole("GET", path)
        assert status == 200 and headers["Content-Type"].split(";")[0] == kind
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert policy.pop("default-src") == "'none'" and set(policy.values()) == {"'self'", "'none'"}
