"""Pictures whose two axes have the same scale, as inline SVG: reliability diagrams and scatter plots."""

import math
from html import escape

from kbert.tasks.pages.content import Reliability, Scatter

# In units of the picture, which are pixels where the page is wide enough.
_SIDE, _LEFT, _TOP, _BELOW, _COUNTS = 260, 58, 8, 40, 34
_WIDTH = _LEFT + _SIDE + 20


def reliability_picture(content: Reliability) -> str:
    """Bars of accuracy by confidence, how far both are apart, and counts below.

    Where a bin is too sure, the gap from its accuracy up to its confidence has one colour; where it is not
    sure enough, the part of its accuracy above its confidence has another.
    """
    number, total = len(content.counts), max(1, sum(content.counts))
    width, most = _SIDE / number, max(1, *content.counts)
    parts = []
    for place, (sure, right, count) in enumerate(
        zip(content.confidences, content.accuracies, content.counts, strict=True)
    ):
        if not count:
            continue
        x, low, high = _LEFT + place * width, min(sure, right), max(sure, right)
        gap = "sure" if sure > right else "unsure"
        height = 24 * count / most
        title = (
            f"confidence {100 * sure:.1f}%, right {100 * right:.1f}%: "
            f"{count:,} answers ({100 * count / total:.1f}%)"
        )
        parts.append(
            f"<g><title>{title}</title>{_rect('bar', x, width, 0, low)}{_rect(gap, x, width, low, high)}"
            f"<rect class='count' x='{x + 0.5:.1f}' y='{_TOP + _SIDE + _COUNTS + 30 - height:.1f}' "
            f"width='{width - 1:.1f}' height='{height:.1f}'/></g>"
        )
    parts.append(f"<text x='{_LEFT - 6}' y='{_TOP + _SIDE + _COUNTS + 28}' text-anchor='end'>count</text>")
    frame = _frame([0, 0.5, 1], lambda share: f"{100 * share:g}%", 0, 1, "confidence", "right")
    return _svg("Reliability diagram", frame + "".join(parts) + _diagonal(), _COUNTS)


def scatter_picture(content: Scatter) -> str:
    """Points, and the dashed line where both values are the same."""
    values = [value for point in content.points for value in point if math.isfinite(value)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    room = 0.04 * (high - low)
    low, high = low - room, high + room

    def place(value):
        return (value - low) / (high - low) * _SIDE

    dots = "".join(
        f"<circle cx='{_LEFT + place(x):.1f}' cy='{_TOP + _SIDE - place(y):.1f}' r='3'/>"
        for x, y in content.points
        if math.isfinite(x) and math.isfinite(y)
    )
    ticks = [low + room + share * (high - low - 2 * room) for share in (0, 0.5, 1)]
    frame = _frame(ticks, "{:.3g}".format, low, high, content.x_name, content.y_name)
    return _svg(f"{content.y_name} by {content.x_name}", frame + _diagonal() + dots)


def _rect(kind, x, width, low, high):
    return (
        f"<rect class='{kind}' x='{x + 0.5:.1f}' y='{_TOP + _SIDE * (1 - high):.1f}' "
        f"width='{width - 1:.1f}' height='{_SIDE * (high - low):.1f}'/>"
    )


def _frame(ticks, shown, low, high, x_name, y_name):
    parts = []
    bottom = _TOP + _SIDE
    for tick in ticks:
        away = (tick - low) / (high - low) * _SIDE
        parts.append(
            f"<line x1='{_LEFT}' x2='{_LEFT + _SIDE}' y1='{bottom - away:.1f}' y2='{bottom - away:.1f}'/>"
            f"<text x='{_LEFT - 6}' y='{bottom - away + 4:.1f}' text-anchor='end'>{shown(tick)}</text>"
            f"<text x='{_LEFT + away:.1f}' y='{bottom + 15}' text-anchor='middle'>{shown(tick)}</text>"
        )
    middle = _TOP + _SIDE / 2
    parts.append(
        f"<text x='{_LEFT + _SIDE / 2}' y='{bottom + 31}' text-anchor='middle'>{escape(x_name)}</text>"
        f"<text x='11' y='{middle}' text-anchor='middle' transform='rotate(-90 11 {middle})'>"
        f"{escape(y_name)}</text>"
    )
    return "".join(parts)


def _diagonal():
    return f"<line class='equal' x1='{_LEFT}' x2='{_LEFT + _SIDE}' y1='{_TOP + _SIDE}' y2='{_TOP}'/>"


def _svg(name, body, more=0):
    height = _TOP + _SIDE + _BELOW + more
    return (
        f"<svg class='square' role='img' aria-label='{escape(name, quote=True)}' "
        f"viewBox='0 0 {_WIDTH} {height}' width='100%'>{body}</svg>\n"
    )


STYLE = """
.square { max-width: 400px; }
.square text { font-size: 12px; fill: var(--pale); }
.square line { stroke: var(--faint); }
.square .equal { stroke: var(--pale); stroke-dasharray: 4 4; }
.square .bar, .square .count { fill: var(--first); }
.square .count { opacity: .55; }
.square .sure { fill: var(--second); opacity: .5; }
.square .unsure { fill: var(--third); opacity: .5; }
.square circle { fill: var(--first); opacity: .45; }
"""
