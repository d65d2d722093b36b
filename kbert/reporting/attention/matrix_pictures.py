"""Pictures of attention: a small one for each head, and a large one with the tokens on both axes."""

import math
import unicodedata
from html import escape

import numpy as np

from kbert.reporting.attention.png_image import data_uri, png
from kbert.tasks.pages.content import shortened

# Okabe and Ito's sky blue, a little darker: it can be seen on a light and on a dark page.
_COLOUR = (47, 140, 205)
_CELL, _LETTER, _ROOM = 17, 7.4, 10  # pixels: a cell, the width of a letter, between a token and its cells
_LEAST_READ = 0.01  # of a cell that shows its value under the pointer
_LONGEST_TOKEN = 24  # letters of a token beside a picture
_SMALL_PIXELS = 400_000  # of all small pictures together


def small_picture(probabilities: np.ndarray, name: str, side: int) -> str:
    """The picture of a head without letters.

    Args:
      probabilities: float array of shape (from, to).
      name: what to call it.
      side: the most pixels of a side; of longer texts a pixel shows the largest of several cells.
    """
    image = png(_ink(_largest(probabilities, side)), _COLOUR)
    return (
        f"<figure class='head'><img alt='{escape(name, quote=True)}' src='{data_uri(image)}'>"
        f"<figcaption>{escape(name)}</figcaption></figure>\n"
    )


def small_side(num_pictures: int, num_tokens: int) -> int:
    """The side of small pictures, in pixels, so that all together stay a small part of a page."""
    return max(8, min(num_tokens, math.isqrt(_SMALL_PIXELS // max(1, num_pictures))))


def large_picture(probabilities: np.ndarray, tokens: list[str], name: str, most_values: int) -> str:
    """The picture of a head with its tokens: rows attend, columns are attended to.

    Args:
      probabilities: float array of shape (tokens, tokens), each row with the sum 1.
      tokens: the tokens, plain text.
      name: what to call it.
      most_values: how many cells, the largest, show their values under the pointer.
    """
    number = len(tokens)
    tokens = [shortened(token, _LONGEST_TOKEN) for token in tokens]
    label = _ROOM + _LETTER * max(map(_letters, tokens))
    side = number * _CELL
    image = data_uri(png(_ink(probabilities), _COLOUR))
    parts = [f"<image x='{label:.0f}' y='{label:.0f}' width='{side}' height='{side}' href='{image}'/>"]
    for place, token in enumerate(map(escape, tokens)):
        along = label + (place + 0.5) * _CELL
        parts.append(f"<text x='{label - 5:.1f}' y='{along + 4:.1f}' text-anchor='end'>{token}</text>")
        x, y = along + 4, label - 5
        parts.append(f"<text transform='rotate(-90 {x:.1f} {y:.1f})' x='{x:.1f}' y='{y:.1f}'>{token}</text>")
    for row, column in _read_cells(probabilities, most_values):
        title = f"{tokens[row]} → {tokens[column]}: {100 * probabilities[row, column]:.1f}%"
        parts.append(
            f"<rect x='{label + column * _CELL:.0f}' y='{label + row * _CELL:.0f}' width='{_CELL}' "
            f"height='{_CELL}'><title>{escape(title)}</title></rect>"
        )
    size = math.ceil(label + side) + 1
    return (
        f"<div class='wide'><svg class='attention' role='img' aria-label='{escape(name, quote=True)}' "
        f"width='{size}' height='{size}'>{''.join(parts)}</svg></div>\n"
    )


def _letters(token):
    """The width of a token in letters; those of Chinese and Japanese are two wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in token)


def _read_cells(probabilities, most):
    """The (row, column) of the cells that show their values."""
    places = np.flatnonzero(probabilities >= _LEAST_READ)
    if len(places) > most:
        order = np.argsort(-probabilities.ravel()[places], kind="stable")
        places = np.sort(places[order[:most]])
    return zip(*np.unravel_index(places, probabilities.shape), strict=True)


def _ink(probabilities):
    """The square root: most probabilities are small, and they would not be seen."""
    return np.sqrt(probabilities)


def _largest(probabilities, side):
    """Cells joined until there are at most `side` in a row; each holds the largest that it was made of."""
    length = len(probabilities)
    if length <= side:
        return probabilities
    starts = np.arange(side) * length // side
    rows = np.maximum.reduceat(probabilities, starts, axis=0)
    return np.maximum.reduceat(rows, starts, axis=1)


STYLE = """
.heads { display: grid; grid-template-columns: repeat(auto-fill, minmax(92px, 1fr)); gap: .7rem; }
.head { margin: 0; }
.head img { display: block; width: 100%; image-rendering: pixelated; border: 1px solid var(--faint); }
.head figcaption { font-size: .75rem; }
svg.attention { max-width: none; }
.attention image { image-rendering: pixelated; }
.attention text { font: 12px/1 ui-monospace, "DejaVu Sans Mono", monospace; }
.attention rect { fill: transparent; }
.attention rect:hover { stroke: var(--second); stroke-width: 2px; }
"""
