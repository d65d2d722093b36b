"""The page of attention: pictures that hold the numbers, tokens that are no HTML, heads that there are."""

import base64
import io
import re
from html import unescape

import numpy as np
import pytest
from PIL import Image

from kbert.reporting.attention.attention_page import chosen_heads, write_attention_page
from kbert.reporting.attention.matrix_pictures import small_side
from kbert.reporting.attention.png_image import png
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


def opacity(image: bytes) -> np.ndarray:
    """The transparency of the pixels, as another reader of PNGs sees it: uint8 (rows, columns)."""
    return np.asarray(Image.open(io.BytesIO(image)).convert("RGBA"))[..., 3]


def images(html, attribute):
    found = re.findall(rf"{attribute}='data:image/png;base64,([^']*)'", html)
    return [opacity(base64.b64decode(image)) for image in found]


def test_a_png_holds_its_numbers():
    shares = np.linspace(-0.2, 1.2, 35).reshape(5, 7)
    image = png(shares, (10, 20, 30))
    np.testing.assert_array_equal(opacity(image), np.rint(np.clip(shares, 0, 1) * 255))
    assert Image.open(io.BytesIO(image)).convert("RGBA").getpixel((6, 4)) == (10, 20, 30, 255)


def test_pictures_are_of_the_right_heads(tmp_path):
    values = probabilities()
    html = page_of(tmp_path, values=values, large=[(2, 3), (1, 1)])
    ink = np.rint(np.sqrt(values) * 255)
    small, large = images(html, "src"), images(html, "href")
    np.testing.assert_array_equal(small, ink.reshape(6, 5, 5))
    np.testing.assert_array_equal(large, [ink[1, 2], ink[0, 0]])
    assert re.findall(r"<h2>(.*?)</h2>", html) == ["Layer 2, head 3", "Layer 1, head 1", "All heads"]


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
    assert "<p class='sentence' dir='auto'>" in html


def test_long_texts_and_many_heads_have_a_bound(tmp_path):
    values = np.full((4, 6, 100, 100), 0.01, np.float32)
    html = page_of(tmp_path, tokens=["token"] * 100, values=values, large=[(1, 1), (2, 2)])
    assert html.count("<title>token") == 6000
    assert small_side(384, 512) ** 2 * 384 <= 400_000
    with pytest.raises(ValueError, match="2 large pictures of 600 tokens are too much for a page; choose 1"):
        page_of(tmp_path, tokens=["t"] * 600, values=np.zeros((1, 1, 600, 600)), large=[(1, 1), (1, 1)])


def test_a_small_picture_shows_the_largest_of_the_cells_of_a_pixel(tmp_path):
    values = np.zeros((24, 16, 90, 90), np.float32)
    values[0, 0, 41, 70] = 1.0
    small = images(page_of(tmp_path, tokens=["t"] * 90, values=values), "src")
    side = small_side(24 * 16, 90)
    assert small[0].shape == (side, side) and side < 90
    starts = [pixel * 90 // side for pixel in range(side)]
    row, column = (sum(start <= cell for start in starts) - 1 for cell in (41, 70))
    assert np.argwhere(small[0]).tolist() == [[row, column]]


def test_heads_are_chosen_from_both_ends():
    assert chosen_heads([], [], (6, 12)) == [(6, 1)]
    assert chosen_heads([3, -1, 6], [2, -12], (6, 12)) == [(3, 2), (3, 1), (6, 2), (6, 1)]
    for layers, heads, sentence in (
        ([7], [], "--layers=7: this model has 6 layers; choose from 1 to 6, or from -6 to -1"),
        ([], [0], "--heads=0: this model has 12 heads"),
        ([1, 2, 3], list(range(1, 13)), "36 large pictures; choose 24 or fewer"),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            chosen_heads(layers, heads, (6, 12))
