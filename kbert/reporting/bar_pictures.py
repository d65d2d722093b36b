"""Bar charts as inline SVG for the pages: histograms, rates by position, and shares.

Horizontal positions are in percent, so that letters keep their size on a phone. The page defines the colours.
"""

from html import escape
from typing import NamedTuple

import numpy as np

_MOST_BARS = 66
_PLOT_HEIGHT, _ABOVE, _BELOW = 140, 18, 24  # pixels


def histogram(counts, caption: str, unit: str) -> str:
    """A histogram: a bar for each value, or for a few neighbouring values.

    Args:
      counts: how often each value occurs; the index is the value.
      caption: the caption of the chart.
      unit: the unit of the values, for example "tokens".
    """
    counts = np.asarray(counts)
    starts, width = _bins(len(counts))
    sums = np.add.reduceat(counts, starts)
    shares = sums / max(1, counts.sum())
    titles = [
        f"{_range(start, min(start + width, len(counts)))} {unit}: {count:,} ({percent(share)})"
        for start, count, share in zip(starts, sums, shares, strict=True)
    ]
    return _plot(shares, titles, starts, width, caption)


def rates(hits, present, caption: str) -> str:
    """The share `hits / present` by position; both are counts, and the index is the position."""
    hits, present = np.asarray(hits), np.asarray(present)
    starts, width = _bins(len(hits))
    hits, present = np.add.reduceat(hits, starts), np.add.reduceat(present, starts)
    shares = hits / np.maximum(1, present)
    titles = [
        f"position {_range(start, start + width)}: {percent(share)} of {total:,}"
        for start, share, total in zip(starts, shares, present, strict=True)
    ]
    return _plot(shares, titles, starts, width, caption)


def _bins(size):
    width = -(-size // _MOST_BARS)
    return np.arange(0, size, width), width


def _range(start, end):
    return f"{start}" if end - start == 1 else f"{start} to {end - 1}"


def _plot(shares, titles, starts, width, caption):
    """Bars as inline SVG; horizontal positions in percent keep the size of letters on a phone."""
    top = _nice_ceiling(max(shares, default=0.0))
    step = 100 / len(shares)
    base = _ABOVE + _PLOT_HEIGHT
    parts, labels = [], []  # labels are drawn over the bars
    for level in (top, top / 2, 0.0):
        y = base - level / top * _PLOT_HEIGHT
        parts.append(f"<line x1='0' x2='100%' y1='{y:.1f}' y2='{y:.1f}'/>")
        if level:
            labels.append(f"<text x='0' y='{y - 4:.1f}'>{100 * level:g}%</text>")
    for index, (share, title) in enumerate(zip(shares, titles, strict=True)):
        height = max(1.0, share / top * _PLOT_HEIGHT) if share else 0.0
        parts.append(
            f"<g><title>{escape(title)}</title><rect class='ground' x='{index * step:.3f}%' y='{_ABOVE}' "
            f"width='{step:.3f}%' height='{_PLOT_HEIGHT}'/><rect x='{(index + 0.1) * step:.3f}%' "
            f"y='{base - height:.1f}' width='{0.8 * step:.3f}%' height='{height:.1f}'/></g>"
        )
    for index in _tick_indices(len(shares)):
        anchor = "start" if index == 0 else "end" if index == len(shares) - 1 else "middle"
        x = 0 if index == 0 else 100 if index == len(shares) - 1 else (index + 0.5) * step
        label = _range(starts[index], starts[index] + width) if width > 1 else f"{starts[index]}"
        labels.append(f"<text x='{x:.3f}%' y='{base + 17}' text-anchor='{anchor}'>{label}</text>")
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption><svg class='plot' role='img' "
        f"aria-label='{escape(caption, quote=True)}' width='100%' height='{base + _BELOW}'>"
        f"{''.join(parts + labels)}</svg></figure>\n"
    )


def _tick_indices(number):
    return sorted({round(part * (number - 1) / 4) for part in range(5)})


def _nice_ceiling(value):
    """`value` (at least 0.001) rounded up to 1, 2 or 5 times a power of ten, so that labels are round."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-3)))
    return float(next(power * factor for factor in (1, 2, 5, 10) if power * factor >= value * 0.9999))


class HorizontalBar(NamedTuple):
    """A bar: its name, its share from 0 to 1, a CSS colour, and its text where that is not the percentage.

    A deviation above 0 is drawn as a line, from `share - deviation` to `share + deviation`.
    """

    name: str
    share: float
    colour: str
    text: str = ""
    deviation: float = 0.0


def bars(shares) -> str:
    """Horizontal bars, each below its name; `shares`: `HorizontalBar`s, or tuples of the same."""
    height = 46
    parts = []
    for index, (name, share, colour, text, deviation) in enumerate(HorizontalBar(*e) for e in shares):
        top = index * height
        parts.append(
            f"<text x='0' y='{top + 14}'>{escape(name)}</text>"
            f"<text x='100%' y='{top + 14}' text-anchor='end'>{escape(text) or percent(share)}</text>"
            f"<rect y='{top + 20}' width='100%' height='14' rx='3' fill='var(--faint)'/>"
            f"<rect y='{top + 20}' width='{100 * share:.1f}%' height='14' rx='3' fill='{colour}'/>"
            + (_deviation_line(share, deviation, top + 27) if deviation else "")
        )
    return f"<svg role='img' width='100%' height='{len(shares) * height}'>{''.join(parts)}</svg>\n"


def _deviation_line(share, deviation, y):
    """A line with an end mark on either side, in the colour of the letters."""
    left, right = 100 * max(0.0, share - deviation), 100 * min(1.0, share + deviation)
    ends = "".join(
        f"<line class='deviation' x1='{x:.1f}%' x2='{x:.1f}%' y1='{y - 4}' y2='{y + 4}' "
        "stroke='currentColor'/>"
        for x in (left, right)
    )
    return (
        f"<line class='deviation' x1='{left:.1f}%' x2='{right:.1f}%' y1='{y}' y2='{y}' "
        f"stroke='currentColor' stroke-width='2'/>{ends}"
    )


def percent(share: float, digits: int = 1) -> str:
    """0.1234 -> "12.3%"."""
    return f"{100 * share:.{digits}f}%"
