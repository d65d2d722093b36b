"""Bars: as high as the numbers, readable as text, at home in any page."""

import re

import numpy as np
import pytest

from kbert.reporting.bar_pictures import bars, histogram, rates
from tests.html_checks import Balanced

PLOT_HEIGHT = 140


def heights(svg):
    """Of all bars, in order, as shares of the picture's height."""
    found = re.findall(r"<rect x='[\d.]+%' y='[\d.]+' width='[\d.]+%' height='([\d.]+)'/></g>", svg)
    return np.array([float(height) for height in found]) / PLOT_HEIGHT


def test_a_histogram_is_as_high_as_the_shares():
    svg = histogram([0, 10, 30, 60], "how long", "tokens")
    np.testing.assert_allclose(heights(svg), [0, 0.1, 0.3, 0.6], atol=0.001)
    assert re.findall(r"<title>(.*?)</title>", svg) == [
        "0 tokens: 0 (0.0%)", "1 tokens: 10 (10.0%)", "2 tokens: 30 (30.0%)", "3 tokens: 60 (60.0%)"
    ]  # fmt: skip
    assert re.findall(r"y='[\d.]+'>([\d.]+%)</text>", svg) == ["100%", "50%"]
    Balanced().check(svg)


@pytest.mark.parametrize("size", [1, 2, 66, 67, 129, 513])
def test_many_values_share_bars_and_none_is_lost(size):
    counts = np.arange(1, size + 1)
    titles = re.findall(r"<title>(.*?)</title>", histogram(counts, "x", "tokens"))
    assert len(titles) <= 66
    found = [re.match(r"(\d+)(?: to (\d+))? tokens: ([\d,]+) ", title).groups() for title in titles]
    ranges = [range(int(first), int(last or first) + 1) for first, last, _ in found]
    assert [value for values in ranges for value in values] == list(range(size))
    assert [int(count.replace(",", "")) for *_, count in found] == [
        sum(counts[value] for value in values) for values in ranges
    ]


def test_rates_are_shares_of_what_is_there():
    svg = rates([0, 5, 1, 0], [10, 10, 4, 0], "how often")
    np.testing.assert_allclose(heights(svg), [0, 0.5 / 0.5, 0.25 / 0.5, 0], atol=0.001)
    assert "<title>position 2: 25.0% of 4</title>" in svg and "<title>position 3: 0.0% of 0</title>" in svg


def test_no_counts_make_an_empty_picture():
    assert heights(histogram([0, 0, 0], "x", "tokens")).tolist() == [0, 0, 0]


def test_a_bar_that_is_there_is_seen():
    assert heights(histogram([1, 10**6], "x", "tokens"))[0] * PLOT_HEIGHT == pytest.approx(1.0)


def test_bars_side_by_side_and_escaped():
    svg = bars([("<a & b>", 0.25, "red"), ("c", 1.0, "blue")])
    assert "&lt;a &amp; b&gt;" in svg and ">25.0%<" in svg
    assert re.findall(r"width='([\d.]+)%' height='14' rx='3' fill='(red|blue)'", svg) == [
        ("25.0", "red"), ("100.0", "blue")
    ]  # fmt: skip
    Balanced().check(svg)
