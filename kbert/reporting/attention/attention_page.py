"""The attention of a model to a text -> an HTML page: all heads small, the chosen ones large.

The page is one file without scripts that needs nothing else.
"""

from html import escape
from pathlib import Path

import numpy as np

from kbert.files.whole_file import write_text
from kbert.reporting.attention import matrix_pictures
from kbert.reporting.attention.matrix_pictures import large_picture, small_picture, small_side
from kbert.reporting.html_page import page, section

MOST_LARGE = 24  # large pictures on a page
_MOST_CELLS = MOST_LARGE * 128**2  # of all large pictures together
_MOST_VALUES = 6000  # cells of all large pictures together that show their value


def chosen_heads(layers: list[int], heads: list[int], shape: tuple[int, int]) -> list[tuple[int, int]]:
    """The pairs (layer, head) to draw large, both counted from 1: every chosen head of every chosen layer.

    Args:
      layers: layers from 1, or from -1 for the last; none for the last.
      heads: heads, likewise; none for the first.
      shape: how many layers there are, and how many heads in each.

    Raises:
      ValueError: for a layer or head that there is not, and for more than `MOST_LARGE` pictures.
    """
    layers = [_place(layer, shape[0], "layers") for layer in layers or [-1]]
    heads = [_place(head, shape[1], "heads") for head in heads or [1]]
    pairs = list(dict.fromkeys((layer, head) for layer in layers for head in heads))
    if len(pairs) > MOST_LARGE:
        raise ValueError(
            f"{len(layers)} layers with {len(heads)} heads each are {len(pairs)} large pictures; choose "
            f"{MOST_LARGE} or fewer."
        )
    return pairs


def _place(number, count, what):
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
    parts = []
    for layer, head in large:
        name, matrix = f"Layer {layer}, head {head}", probabilities[layer - 1, head - 1]
        parts.append(section(name, large_picture(matrix, tokens, name, _MOST_VALUES // len(large))))
    parts.append(section("All heads", _overview(probabilities)))
    num_layers, num_heads = probabilities.shape[:2]
    lead = (
        f"What {len(tokens)} tokens attend to in <b>{escape(source)}</b>, {num_layers} layers of {num_heads} "
        "heads."
    )
    html = page("Attention", lead, _NOTE, [_text(tokens), *parts], matrix_pictures.STYLE)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_text(html, path)


_NOTE = (
    "A row is the token that attends, a column the one that it attends to; the probabilities of a row have "
    "the sum 1. The ink of a cell is the square root of its probability, so that small ones can be seen. "
    "Point at a cell of a large picture to read its value, from 1% on."
)


def _text(tokens):
    return f"<p class='sentence' dir='auto'>{escape(' '.join(tokens))}</p>"


def _overview(probabilities):
    num_layers, num_heads, length, _ = probabilities.shape
    side = small_side(num_layers * num_heads, length)
    pictures = "".join(
        small_picture(probabilities[layer, head], f"layer {layer + 1}, head {head + 1}", side)
        for layer in range(num_layers)
        for head in range(num_heads)
    )
    return f"<div class='heads'>\n{pictures}</div>\n"
