"""The page of attention: pictures that hold the numbers, tokens that are no HTML, heads that there are."""

import base64
import io
import re
from html import unescape

import numpy as np
from PIL import Image

from kbert.reports.attention_page import write_attention_page
from tests.html_checks import read_page

TOKENS = ["[CLS]", "<script>", "שלום", "東京", "[SEP]"]


def probabilities(layers=2, heads=3, length=5, seed=1):
    values = np.random.default_rng(seed).random((layers, heads, length, length)) ** 4
    return (values / values.sum(axis=-1, keepdims=True)).astype(np.float32)


def page_of(folder, tokens=TOKENS, values=None, large=((2, 3),)):
    path = folder / "new" / "page.html"
    values = probabilities() if values is None else values
    write_attention_page(tokens, values, list(large), "<b>model</b>", path)
    return read_page(path)


def images(html, attribute):
    """The transparency of the pixels, as another reader of PNGs sees it: uint8 (rows, columns)."""
    found = map(base64.b64decode, re.findall(rf'{attribute}="data:image/png;base64,([^"]*)"', html))
    return [np.asarray(Image.open(io.BytesIO(image)).convert("RGBA"))[..., 3] for image in found]


def test_pictures_are_of_the_right_heads(tmp_path):
    values = probabilities()
    html = page_of(tmp_path, values=values, large=[(2, 3), (1, 1)])
    ink = np.rint(np.sqrt(values) * 255)
    np.testing.assert_array_equal(images(html, "src"), ink.reshape(6, 5, 5))
    np.testing.assert_array_equal(images(html, "href"), [ink[1, 2], ink[0, 0]])
    assert re.findall(r"<h2>(.*?)</h2>", html) == ["Layer 2, head 3", "Layer 1, head 1", "All heads"]
    assert html == page_of(tmp_path, values=values, large=[(2, 3), (1, 1)])


def test_cells_say_who_attends_to_whom(tmp_path):
    values = probabilities()
    titles = map(unescape, re.findall(r"<rect[^>]*><title>(.*?)</title>", page_of(tmp_path, values=values)))
    read = {tuple(re.split(" → |: ", title)) for title in titles}
    expected = {
        (TOKENS[row], TOKENS[column], f"{100 * p:.1f}%")
        for (row, column), p in np.ndenumerate(values[1, 2])
        if p >= 0.01
    }
    assert read == expected and len(expected) > 10


def test_tokens_are_never_html(tmp_path):
    html = page_of(tmp_path)  # `read_page` refuses scripts
    assert "&lt;script&gt;" in html and "&lt;b&gt;model&lt;/b&gt;" in html and "東京" in html
    assert '<p class="sentence" dir="auto">' in html
