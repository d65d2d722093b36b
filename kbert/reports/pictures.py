"""Pictures for pages: matplotlib's SVG inside the page, in the colours of its style sheet.

A picture repeats byte for byte: ids inside it are hashed with a fixed salt, letters stay letters, and there
is no date. `style.css` has the colours by name, for light and dark pages.
"""

import contextlib
import io
import os
import re
import warnings
from html import escape

import numpy as np

# Okabe and Ito's colours come first: people with any colour vision can tell them apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b4548c", "#2f9bd6", "#b8860b", "#6a51a3", "#555555")
PAPER, INK, PALE, FAINT = "#fefefe", "#222222", "#6b6b6b", "#ececec"
_NAMES = {colour: f"c{number}" for number, colour in enumerate(COLOURS)}
_NAMES |= {PAPER: "paper", INK: "ink", PALE: "pale", FAINT: "faint"}
_STYLE = {
    "svg.hashsalt": "kbert", "svg.fonttype": "none", "text.parse_math": False, "font.family": "DejaVu Sans",
    "font.size": 9, "text.color": PALE, "axes.labelcolor": PALE, "xtick.color": PALE, "ytick.color": PALE,
    "axes.spines.left": False, "axes.spines.right": False, "axes.spines.top": False,
    "axes.edgecolor": FAINT, "axes.grid": True, "axes.grid.axis": "y", "grid.color": FAINT,
    "axes.axisbelow": True, "xtick.major.size": 0, "ytick.major.size": 0, "lines.linewidth": 1.6,
    "figure.subplot.left": 0.11, "figure.subplot.right": 0.98, "figure.subplot.bottom": 0.12,
    "figure.subplot.top": 0.97,
}  # fmt: skip
_MOST_BARS = 66
_BAR_POINTS = 430  # of all bars beside one another
_EQUAL = {"color": PALE, "linestyle": "--", "linewidth": 0.8}  # the line where two values are the same


@contextlib.contextmanager
def new_figure(width: float, height: float):
    """An empty figure of so many inches, to be drawn and saved inside the block."""
    with _own_settings(), warnings.catch_warnings():
        from matplotlib.figure import Figure  # without pyplot there is no global state and no display

        warnings.filterwarnings("ignore", "Glyph")  # a browser has the letters that matplotlib has not
        yield Figure(figsize=(width, height))


def png(pixels) -> bytes:
    """uint8 [height, width, 4 for red, green, blue and opacity] as the content of a PNG file."""
    file = io.BytesIO()
    with _own_settings():
        from matplotlib.image import imsave

        imsave(file, pixels, format="png")
    return file.getvalue()


def _own_settings():
    """Matplotlib with `_STYLE` on its defaults, whatever the user's matplotlibrc says."""
    try:
        import matplotlib  # here because it loads slowly
    except ValueError:  # a notebook's MPLBACKEND, which is a module of the notebook's environment
        backend = os.environ.pop("MPLBACKEND")
        import matplotlib

        os.environ["MPLBACKEND"] = backend
    # A context leaves the backend as it was set, and no picture of kbert needs one.
    defaults = {name: value for name, value in matplotlib.rcParamsDefault.items() if name != "backend"}
    return matplotlib.rc_context(defaults | _STYLE)


def render_svg(figure, name: str, tooltips=()) -> str:
    """A figure as SVG in the colours of the page, without what only a file of its own needs.

    `tooltips`: those of `columns`.
    """
    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    svg = file.getvalue()
    head, _, svg = svg.partition("</defs>")
    (box,) = re.findall(r'viewBox="[^"]*"', head)
    svg = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]).replace("\n", ""), svg)
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)  # names of axes and lines, the same in every picture
    for colour, variable in _NAMES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    svg = svg.replace("</svg>", f"{''.join(tooltips)}</svg>")
    return f"<svg role='img' aria-label='{escape(name)}' {box}>{svg}"


def columns(axes, edges, titles) -> list[str]:
    """Columns without ink, between edges in units of the data, whose titles appear under the pointer."""
    lefts = axes.transData.transform([(edge, 0) for edge in edges])[:, 0] / axes.figure.bbox.width
    rect = "<g class='column'><title>{}</title><rect x='{:.2%}' width='{:.2%}' height='100%'/></g>"
    return [
        rect.format(escape(title), left, right - left)
        for left, right, title in zip(lefts, lefts[1:], titles, strict=False)
    ]


def bar_chart(hits, present, name: str, label: str) -> str:
    """The share `hits / present` of each value, or of a few neighbouring ones.

    Args:
      hits: counts; the index is the value.
      present: likewise, or the number of all.
      name: what the picture shows.
      label: what a value is called: "{} tokens".
    """
    width = -(-len(hits) // _MOST_BARS)
    starts = np.arange(0, len(hits), width)
    lasts = np.minimum(starts + width, len(hits)) - 1
    values = [f"{a}" if a == b else f"{a} to {b}" for a, b in zip(starts, lasts, strict=True)]
    hits = np.add.reduceat(hits, starts)
    present = np.add.reduceat(present, starts) if np.ndim(present) else np.full(len(hits), present)
    shares = hits / np.maximum(1, present)
    titles = [
        f"{label.format(value)}: {count:,} of {of:,} ({100 * share:.1f}%)"
        for value, count, of, share in zip(values, hits, present, shares, strict=True)
    ]
    with new_figure(8.6, 2.1) as figure:
        return render_svg(figure, name, _draw_bars(figure.subplots(), shares, values, titles))


def _draw_bars(axes, shares, values, titles):
    highest = shares.max() or 1
    heights = np.where(shares > 0, np.maximum(shares, 0.01 * highest), 0)  # what is there is seen
    # Thick lines: a bar of its own for each would take twice the time.
    width = _BAR_POINTS / len(shares)
    axes.vlines(np.arange(len(shares)), 0, heights, color=COLOURS[0], linewidth=width)
    axes.set(xlim=(-0.5, len(shares) - 0.5), ylim=(0, 1.05 * highest))
    ticks = np.unique(np.linspace(0, len(shares) - 1, 5).astype(int))
    axes.set_xticks(ticks, [values[tick] for tick in ticks])
    axes.yaxis.set_major_formatter(_percent)
    axes.locator_params(axis="y", nbins=3)
    return columns(axes, np.arange(len(shares) + 1) - 0.5, titles)


def _percent(value, _):
    return f"{100 * value:.4g}%"


def reliability(content) -> str:
    """A `Reliability`: accuracy by confidence, how far both are apart, and counts below.

    Where a bin is too sure, the gap from its accuracy up to its confidence has one colour; where it is not
    sure enough, the part of its accuracy above its confidence has another.
    """
    confidences, accuracies, counts = map(np.array, (content.confidences, content.accuracies, content.counts))
    edges, shares = np.linspace(0, 1, len(counts) + 1), counts / max(1, counts.sum())
    titles = [
        f"confidence {100 * sure:.1f}%, right {100 * right:.1f}%: {count:,} predictions ({100 * share:.1f}%)"
        for sure, right, count, share in zip(confidences, accuracies, counts, shares, strict=True)
    ]
    bar = {"x": edges[:-1], "width": 0.97 / len(counts), "align": "edge", "color": COLOURS[0]}
    gap = {
        "color": np.where(confidences > accuracies, *COLOURS[1:3]),
        "alpha": 0.5,
        "bottom": np.minimum(confidences, accuracies),
    }
    with new_figure(4, 4.4) as figure:
        axes, below = figure.subplots(2, 1, height_ratios=(7, 1), gridspec_kw={"hspace": 0.3})
        axes.bar(height=np.minimum(confidences, accuracies), **bar)
        axes.bar(height=np.abs(confidences - accuracies), **bar | gap)
        axes.axline((0, 0), slope=1, **_EQUAL)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="right")
        axes.xaxis.set_major_formatter(_percent)
        axes.yaxis.set_major_formatter(_percent)
        below.bar(height=counts, alpha=0.55, **bar)
        below.set(xlim=(0, 1), xticks=[], yticks=[], ylabel="count")
        return render_svg(figure, "Reliability diagram", columns(axes, edges, titles))


def scatter(content) -> str:
    """A `Scatter`: points, and the dashed line where both values are the same."""
    points = np.array(content.points).reshape(-1, 2)
    points = points[np.isfinite(points).all(axis=1)]
    with new_figure(4, 4) as figure:
        axes = figure.subplots()
        axes.plot(*points.T, "o", color=COLOURS[0], alpha=0.45, markeredgewidth=0)
        axes.axline((0, 0), slope=1, **_EQUAL)
        axes.set(xlabel=content.x_name, ylabel=content.y_name)
        axes.locator_params(nbins=5)
        return render_svg(figure, f"{content.y_name} by {content.x_name}")
