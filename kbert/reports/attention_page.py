"""The attention of a model to a text -> a page: all heads small, the chosen ones large, with their tokens."""

import base64
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kbert.reports.page import write_page
from kbert.reports.pictures import png
from kbert.reports.text_table import text_width
from kbert.tasks.pages.content import shortened

MOST_LARGE = 24  # large pictures on a page
_MOST_CELLS = MOST_LARGE * 128**2  # of all large pictures together
_MOST_VALUES = 6000  # cells of all large pictures together that show their value
_LEAST_READ = 0.01  # of a cell that shows its value under the pointer
_SMALL_PIXELS = 400_000  # of all small pictures together
_LONGEST_TOKEN = 24  # letters of a token beside a picture
_LETTER = 7.4  # pixels
# Okabe and Ito's sky blue, a little darker: it can be seen on a light and on a dark page.
_COLOUR = (47, 140, 205)


def chosen_heads(
    layers: Sequence[int], heads: Sequence[int], shape: tuple[int, int]
) -> list[tuple[int, int]]:
    """The pairs (layer, head) to draw large, both counted from 1: every chosen head of every chosen layer.

    Args:
      layers: layers from 1, or from -1 for the last; none for the last.
      heads: heads, likewise; none for the first.
      shape: how many layers there are, and how many heads in each.

    Raises:
      ValueError: for a layer or head that there is not, and for more than `MOST_LARGE` pictures.
    """
    layers = [_from_start(layer, shape[0], "layers") for layer in layers or [-1]]
    heads = [_from_start(head, shape[1], "heads") for head in heads or [1]]
    pairs = list(dict.fromkeys((layer, head) for layer in layers for head in heads))
    if len(pairs) > MOST_LARGE:
        raise ValueError(
            f"{len(layers)} layers with {len(heads)} heads each are {len(pairs)} large pictures; choose "
            f"{MOST_LARGE} or fewer."
        )
    return pairs


def _from_start(number, count, what):
    if not (1 <= number <= count or -count <= number <= -1):
        raise ValueError(
            f"--{what}={number}: this model has {count} {what}; choose from 1 to {count}, or from "
            f"-{count} to -1, which is the last."
        )
    return number if number > 0 else count + 1 + number


def write_attention_page(
    tokens: list[str], probabilities: np.ndarray, large: list[tuple[int, int]], source: str, path: str | Path
):
    """Writes the page. The file appears only when it is complete.

    Args:
      tokens: the tokens of the text, with special tokens.
      probabilities: float array of shape (layers, heads, from, to), see `kbert.inference.attention`.
      large: the pairs (layer, head), from 1, to draw large; see `chosen_heads`.
      source: the name of the model.
      path: the .html file to write; its folder is made where it is missing.

    Raises:
      ValueError: when the large pictures of a long text would be too many for a page.
    """
    most = max(1, _MOST_CELLS // len(tokens) ** 2)
    if len(large) > most:
        raise ValueError(
            f"{len(large)} large pictures of {len(tokens)} tokens are too much for a page; choose {most} or "
            "fewer heads, or a shorter text."
        )
    num_heads = probabilities.shape[0] * probabilities.shape[1]
    side = max(8, min(len(tokens), math.isqrt(_SMALL_PIXELS // num_heads)))
    labels = [shortened(token, _LONGEST_TOKEN) for token in tokens]
    write_page(
        path,
        "attention.html",
        title="Attention",
        source=source,
        text=" ".join(tokens),
        tokens=labels,
        room=10 + math.ceil(_LETTER * max(map(text_width, labels))),
        large=[
            _large_picture(probabilities[i - 1, j - 1], i, j, _MOST_VALUES // len(large)) for i, j in large
        ],
        small=[[_image(_largest(head, side)) for head in layer] for layer in probabilities],
    )


def _large_picture(probabilities, layer, head, most):
    """What the template draws; `cells`: (row, column, probability) of those that show their values."""
    readable = np.flatnonzero(probabilities >= _LEAST_READ)
    order = np.argsort(-probabilities.ravel()[readable], kind="stable")
    cells = zip(*np.unravel_index(np.sort(readable[order[:most]]), probabilities.shape), strict=True)
    cells = [(row, column, probabilities[row, column]) for row, column in cells]
    return {"layer": layer, "head": head, "image": _image(probabilities), "cells": cells}


def _largest(probabilities, side):
    """Cells joined until there are at most `side` in a row; each holds the largest that it was made of."""
    length = len(probabilities)
    if length <= side:
        return probabilities
    starts = np.arange(side) * length // side
    rows = np.maximum.reduceat(probabilities, starts, axis=0)
    return np.maximum.reduceat(rows, starts, axis=1)


def _image(probabilities):
    """A PNG inside the page, transparent where a probability is 0.

    The ink is the square root: most probabilities are small, and they would not be seen.
    """
    pixels = np.full((*probabilities.shape, 4), [*_COLOUR, 0], np.uint8)
    pixels[..., 3] = np.rint(np.sqrt(probabilities) * 255)
    return f"data:image/png;base64,{base64.b64encode(png(pixels)).decode('ascii')}"
