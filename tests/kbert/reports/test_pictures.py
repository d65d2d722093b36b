"""Bars: as high as the numbers, readable as text, the same every time."""

import os
import re
import subprocess
import sys

import matplotlib
import numpy as np

from kbert.reports.pictures import bar_chart, png
from tests.html_checks import LoadsNothing


def titles(svg):
    return re.findall(r"<title>(.*?)</title>", svg)


def heights(svg):
    """Of all bars, as shares of the highest."""
    ends = re.findall(r'd="M [\d.]+ ([\d.]+) L [\d.]+ ([\d.]+) "[^>]*stroke: var\(--c0\)', svg)
    sizes = np.array([float(low) - float(high) for low, high in ends])
    return sizes / sizes.max()


def test_bars_are_as_high_as_the_shares():
    svg = bar_chart([0, 10, 30, 60], 100, "<how long>", "{} tokens")
    np.testing.assert_allclose(heights(svg), [0, 1 / 6, 1 / 2, 1], atol=0.003)
    assert titles(svg)[1:3] == ["1 tokens: 10 of 100 (10.0%)", "2 tokens: 30 of 100 (30.0%)"]
    LoadsNothing().check(svg)
    assert svg == bar_chart([0, 10, 30, 60], 100, "<how long>", "{} tokens")
    svg = bar_chart([0, 5, 1, 0], [10, 10, 4, 0], "how often", "position {}")
    np.testing.assert_allclose(heights(svg), [0, 1, 1 / 2, 0], atol=0.003)
    assert titles(svg)[2:] == ["position 2: 1 of 4 (25.0%)", "position 3: 0 of 0 (0.0%)"]


_DRAWN = "from kbert.reports.pictures import bar_chart; print(bar_chart([1, 2], 3, '', '{}'))"


def test_the_settings_of_notebooks_and_of_the_user_change_no_picture():
    """A kernel of Jupyter gives its backend to what it starts, whose environment need not have it; a
    matplotlibrc may want LaTeX, or cut the margins. Both ended commands after all of their work."""
    picture, pixels = bar_chart([1, 2], 3, "", "{}"), np.zeros((2, 1, 4), np.uint8)
    pixels[0] = 255
    image = png(pixels)
    own = {"text.usetex": True, "savefig.bbox": "tight", "image.origin": "lower", "axes.grid": False}
    with matplotlib.rc_context(own):
        assert bar_chart([1, 2], 3, "", "{}") == picture
        assert png(pixels) == image
        assert matplotlib.rcParams["image.origin"] == "lower"
    environment = os.environ | {"MPLBACKEND": "module://no.such_backend"}
    done = subprocess.run([sys.executable, "-c", _DRAWN], env=environment, text=True, capture_output=True)
    assert (done.stdout, done.stderr) == (picture + "\n", "")
