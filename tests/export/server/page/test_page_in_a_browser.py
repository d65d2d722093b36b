"""The page in headless Chromium: what it shows equals what the REST API answers."""

import json

import numpy as np
import pytest

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.export import signatures_page

from .answering_model import LABELS, TOKENS

pytestmark = pytest.mark.slow
HOSTILE = '<img src=x onerror="hacked=1"> <script>hacked=1</script>'
PREDICT = "/v1/models/a%2Fmodel:predict"


def show(page, title, width=1280):
    """Opens the page and chooses the view with this title, by its signature's name too."""
    page.open(page.url, width)
    page.wait("!!document.querySelector('#views input')")
    chosen = page.run(
        "(title => { const label = [...document.querySelectorAll('#views label')]"
        ".find(each => each.textContent === title); label?.querySelector('input').click(); return !!label })"
        f"({json.dumps(title)})"
    )
    assert chosen, page.run("document.querySelector('#views').textContent")


def fill(page, **texts):
    for name, text in texts.items():
        page.run(f"document.querySelector('#field-{name}').select()")
        page.write(text)


def ask(page):
    """Sends the form, and waits for its answer."""
    page.run("document.querySelector('#request').hidden = true")
    page.run("document.querySelector('#ask').click()")
    page.wait("!document.querySelector('#request').hidden && !document.querySelector('#answer').hidden")


def texts(page, selector):
    """The texts that can be seen."""
    return page.run(
        f"[...document.querySelectorAll('#answer {selector}')].map(each => each.innerText.trim())"
    )


def numbers(page):
    return [float(value) for value in page.run(
        "[...document.querySelectorAll('#answer .value')].map(each => each.dataset.value)")]  # fmt: skip


def rest(asked, signature, row):
    status, answer = asked.predict({"signature_name": signature, "instances": [row]}, PREDICT)
    assert status == 200, answer
    return answer["predictions"][0]


def fits_the_window(page):
    return page.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def check_labels(page, asked):
    text = "a text of some length"
    fill(page, text=text)
    ask(page)
    answer = rest(asked, "serving_default", text)
    order = np.argsort(answer["probabilities"])[::-1]
    assert numbers(page) == [answer["probabilities"][index] for index in order]
    assert [name.removeprefix("✓ ") for name in texts(page, ".name")] == [LABELS[index] for index in order]
    assert texts(page, ".chosen .name") == ["✓ <b>long</b>"] and answer["label"] == "<b>long</b>"


def check_question(page, asked):
    # The first character is two UTF-16 units: positions are code points.
    texts_of = {"question": "seven", "context": "😀 A moving film."}
    fill(page, **texts_of)
    ask(page)
    answer = rest(asked, "ask", texts_of)
    assert texts(page, "mark") == texts(page, ".headline") == [answer["answer"]] == ["A mov"]
    assert texts(page, ".paragraph") == [texts_of["context"]]
    shown = page.run("document.querySelector('#answer').innerText")
    assert f"score {answer['score']:.3f}" in shown and f"this one {answer['null_odds']:.3f}" in shown
    fill(page, context="😀")
    ask(page)
    assert texts(page, ".headline") == ["No answer in this paragraph."] and texts(page, "mark") == []


def check_entities(page, asked):
    text = "😀 met Ada Lovelace and Charles today"
    fill(page, text=text)
    ask(page)
    answer = rest(asked, "tag", text)
    sure = answer["probabilities"]
    assert texts(page, ".paragraph mark") == ["Ada Lovelace PER", "Charles PER"]
    assert numbers(page) == [min(sure[2:4]), sure[5]]
    assert texts(page, ".legend") == ["PER 2"]


def check_masks(page, asked):
    fill(page, text="A [MASK] day, a [MASK].", top_k="3")
    page.run("document.querySelector('#field-whole_words').click()")
    ask(page)
    inputs = {"text": ["A [MASK] day, a [MASK]."], "top_k": 3, "whole_words": False}
    _, answer = asked.predict({"signature_name": "fill", "inputs": inputs}, PREDICT)
    assert texts(page, ".name") == sum(answer["outputs"]["tokens"][0], [])
    assert numbers(page) == sum(answer["outputs"]["probabilities"][0], [])
    field = "document.querySelector('#field-text').value"
    for button, text in [
        (0, "A sunny day, a [MASK]."),
        (5, "A sunny day, a <i>dull</i>."),
        (1, "Any day, a <i>dull</i>."),
    ]:
        page.run(f"document.querySelectorAll('#answer .bars button')[{button}].click()")
        assert page.run(field) == text
    fill(page, text="Something else.")
    page.run("document.querySelectorAll('#answer .bars button')[0].click()")
    assert page.run(field) == "Something else." and "has changed" in page.run("document.body.innerText")


def check_search(page, asked):
    lines = ["bread and butter", "a plane", "planes land"]
    fill(page, question="a plane lands", lines="\n".join([lines[0], "", *lines[1:]]))
    ask(page)
    vectors = np.array([rest(asked, "embed", line) for line in ["a plane lands", *lines]])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors[1:] @ vectors[0]
    order = np.argsort(cosines)[::-1]
    assert texts(page, ".name") == [lines[index] for index in order]
    np.testing.assert_allclose(numbers(page), cosines[order], rtol=1e-12)


def check_attention(page, asked):
    text = "a <b>warm</b> film"
    fill(page, text=text)
    ask(page)
    tokens, layers = np.array(text.split()), np.array(rest(asked, "attend", text)["attention"])
    attended = layers.mean((0, 1))[0]
    order = np.argsort(attended)[::-1]
    assert texts(page, ".tokens button") == tokens.tolist()
    assert texts(page, ".bars .name") == tokens[order].tolist()
    np.testing.assert_allclose(numbers(page), attended[order], rtol=1e-12)


def check_plain(page, asked):
    fill(page, input_ids="[[3, 4], [5, 6]]")
    ask(page)
    assert json.loads(texts(page, "pre")[0]) == [{"sum": 7}, {"sum": 11}]


VIEWS = {
    "Classify serving_default": check_labels,
    "Ask a paragraph ask": check_question,
    "Tag entities tag": check_entities,
    "Fill in the blank fill": check_masks,
    "Search embed": check_search,
    "Attention attend": check_attention,
    "By name ids": check_plain,
}


def test_every_view_shows_what_the_server_answers(page, page_asked):
    for title, check in VIEWS.items():
        show(page, title, 390)
        check(page, page_asked)
        assert fits_the_window(page), title


def test_the_pieces_of_a_text_are_shown_while_it_is_typed(page):
    vocabulary = Vocabulary(TOKENS, do_lower_case=True)
    tokenizer = WordPieceTokenizer(vocabulary)
    pieces = "[...document.querySelectorAll('.pieces .piece')].map(each => each.textContent)"
    for title, text, ids in (
        ("Classify serving_default", "Pláying a [MASK], <b>dull</b> DAY", lambda t: tokenizer([t])[0]),
        ("Fill in the blank fill", "A [MASK] day,[MASK]", lambda t: tokenizer.tokenize_with_masks([t])[0]),
    ):
        show(page, title, 390)
        fill(page, text=text)
        expected = [TOKENS[index] for index in ids(text).numpy()]
        assert page.run(pieces) == expected and len(expected) > 3
        unknown = expected.count("[UNK]")
        assert page.run("document.querySelectorAll('.pieces .unknown').length") == unknown
        told = f"{len(expected)} pieces" + (f", {unknown} not in the vocabulary: " if unknown else ": ")
        assert page.run("document.querySelector('.pieces').textContent").startswith(told)
    ask(page)
    page.run("document.querySelectorAll('#answer .bars button')[0].click()")
    assert "[MASK]" not in page.run(pieces)[:3], "the word that a click put there"
    show(page, "By name ids")
    assert page.run("document.querySelectorAll('.pieces').length") == 0


def test_hostile_text_stays_text(page):
    for title, fields in {
        "Tag entities tag": ["text"],
        "Ask a paragraph ask": ["question", "context"],
        "Search embed": ["question", "lines"],
        "Fill in the blank fill": ["text"],
        "Choose choose": ["text", "choices"],
        "Attention attend": ["text"],
    }.items():
        show(page, title, 390)
        fill(page, **dict.fromkeys(fields, HOSTILE + " [MASK] " + "x" * 300))
        ask(page)
        assert "onerror=" in page.run("document.querySelector('#answer').innerText")
        assert page.run("document.querySelectorAll('img, main script').length") == 0
        assert page.run("typeof hacked") == "undefined" and fits_the_window(page)


def test_keys_are_enough(page):
    page.open(page.url, 1280)
    page.wait("document.activeElement === document.body && !!document.querySelector('#field-text')")
    for _ in range(2):  # the list of models, the view that is chosen
        page.press("Tab", 9)
    page.press("ArrowRight", 39)
    assert page.run("document.activeElement.parentElement.innerText") == "Ask a paragraph ask"
    page.press("Tab", 9)
    assert page.run("document.activeElement.id") == "field-question"
    assert page.run("document.querySelector('label[for=field-question]').innerText") == "Question"
    page.press("Enter", 13, modifiers=2)
    page.wait("document.querySelectorAll('#answer mark').length === 1")


def test_errors_are_told_in_words(page):
    show(page, "By name ids")
    for ids, words in [
        ("[[1, 2], [3]]", "The server refuses this (400): "),
        ("[1", "input_ids is no JSON"),
        ("[[1.5]]", "is not of expected type: int32"),
    ]:
        fill(page, input_ids=ids)
        page.run("document.querySelector('#answer').replaceChildren()")
        page.run("document.querySelector('#ask').click()")
        page.wait("document.querySelectorAll('#answer .error').length === 1")
        assert words in texts(page, ".error")[0]
    show(page, "Search embed")
    fill(page, lines=" \n ")
    page.run("document.querySelector('#ask').click()")
    page.wait("document.querySelectorAll('#answer .error').length === 1")
    assert texts(page, ".error") == ["“Lines to search, one text a line” is empty. Write at least one line."]
    page.run(
        "(list => { list.append(new Option('gone')); list.value = 'gone'; "
        "list.dispatchEvent(new Event('change')) })(document.querySelector('#model'))"
    )
    page.wait("document.querySelector('#answer .error')?.innerText.includes('Servable not found')")
    assert page.run("document.querySelectorAll('#fields *, #views *').length") == 0
    # The browser itself notes each answer that is an error.
    assert sum("status of 400" in trouble for trouble in page.troubles) == 2
    assert all("status of 40" in trouble for trouble in page.troubles) and len(page.troubles) <= 4
    page.troubles.clear()


def test_every_documented_head_has_a_view_of_its_own(page):
    expected = {
        "sequence_classification": "Classify",
        "multi_label_classification": "Classify",
        "sequence_regression": "Score",
        "multiple_choice": "Choose",
        "token_classification": "Tag entities",
        "question_answering": "Ask a paragraph",
        "pretraining": "Fill in the blank",
        "next_sentence": "Does it follow?",
        "cosine_similarity": "Compare",
        "encoder": "Search",
    }
    page.open(page.url, 1280)
    page.wait("!!document.querySelector('#field-text')")
    for task, title in expected.items():
        inputs, outputs = signatures_page.signatures_of(task)["serving_default"]
        signature = {
            "inputs": [{"name": name} for name in inputs],
            "outputs": [{"name": name} for name in outputs],
        }
        script = "import('/page/views/table.js').then(({viewsOf}) => viewsOf(s)[0].title(s))"
        assert page.run(f"(s => {script})({json.dumps(signature)})") == title, task
