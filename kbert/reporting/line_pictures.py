"""Line charts over training steps as inline SVG for the pages, with the values under the mouse pointer.

There are no scripts: CSS shows the text with the values of a column while the pointer is in it. Horizontal
positions are in percent, or in a stretched inner picture, so that letters keep their size at every width.
"""

import bisect
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import numpy as np

_READING, _PLOT, _BELOW = 24, 170, 22  # heights in pixels: line of values above, plot, steps below
_SCALE = 50  # width in pixels of the scale on the left
_UNITS = 1000  # width and height of the stretched picture in its own units
_MOST_POINTS = 400  # points of a line; a screen cannot show more
_MOST_COLUMNS = 48  # columns that show their values under the pointer
NUM_COLOURS = 8


@dataclass(frozen=True)
class Series:
    """The values of one run in a chart.

    Args:
      colour: index of its colour, below NUM_COLOURS.
      steps, values: the line, with ascending steps.
      point_steps, point_values: the points (evaluations).
    """

    colour: int
    steps: list
    values: list
    point_steps: list
    point_values: list


@dataclass(frozen=True)
class Kind:
    """How to show the values of a kind of metric.

    Args:
      text: function from a value to the text under the pointer.
      tick: function from a value to its short form on the scale.
      from_zero: whether the scale begins at 0.
      cut_spikes: whether rare values far above the others are cut off.
    """

    text: Callable
    tick: Callable
    from_zero: bool = True
    cut_spikes: bool = False


def thin(steps, values, most: int = _MOST_POINTS):
    """Reduces a long line to fewer points that look the same.

    The range of steps is cut into `most` equal intervals. Each interval with values gives one point: the mean
    of its steps and the mean, lowest and highest of its values.

    Args:
      steps, values: numbers, with ascending steps.
      most: the largest number of points.

    Returns:
      Four NumPy arrays: steps, means, lowest, highest. A line with at most `most` points is unchanged.
    """
    steps, values = np.asarray(steps, float), np.asarray(values, float)
    if len(steps) <= most:
        return steps, values, values, values
    edges = np.linspace(steps[0], steps[-1], most + 1)
    starts = np.unique(np.searchsorted(steps, edges[:-1]))
    sizes = np.diff(np.append(starts, len(steps)))
    means = [np.add.reduceat(numbers, starts) / sizes for numbers in (steps, values)]
    return *means, np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)


def chart(
    title: str, series: list[Series], kind: Kind, last_step: int, phases=(), along: str = "step"
) -> str:
    """A chart of one metric by step, for one or several runs, as HTML.

    Args:
      title: plain text.
      series: the values of the runs, at least one of them not empty.
      kind: how to show the values.
      last_step: the step at the right edge; the left edge is step 0.
      phases: a pair (step, name) for each step where a new phase begins.
      along: what a step is, for the texts: "second" where the values are drawn over time.
    """
    lines = [thin(one.steps, one.values) for one in series]
    low, high, ticks = _scale(series, lines, kind)

    def x(step):
        return 100 * step / max(last_step, 1)

    def y(value):
        return _READING + _PLOT * (1 - (min(max(value, low), high) - low) / (high - low))

    grid = [f"<line class='grid' x2='100%' y1='{y(tick):.1f}' y2='{y(tick):.1f}'/>" for tick in ticks]
    inner, points = [], []
    for one, line in zip(series, lines, strict=True):
        inner.append(_paths(one.colour, line, last_step, low, high))
        dots = list(zip(one.point_steps, one.point_values, strict=True))
        if len(line[0]) < 3:  # too few for a visible line
            points += [_point(x(s), y(v), one.colour, 2.5) for s, v in zip(line[0], line[1], strict=True)]
        radius = 4 if len(dots) <= 30 else 2.5
        points += [_point(x(step), y(value), one.colour, radius) for step, value in dots]
    steps_below = [
        f"<text x='{x(tick):.2f}%' y='{_READING + _PLOT + 17}' "
        f"text-anchor='{_anchor(x(tick))}'>{short_number(tick)}</text>"
        for tick in _ticks(0, last_step, 4)
    ]
    scale = "".join(
        f"<text x='{_SCALE - 8}' y='{y(tick) + 4:.1f}' text-anchor='end'>{escape(kind.tick(tick))}</text>"
        for tick in ticks
    )
    height = _READING + _PLOT + _BELOW
    return (
        f"<figure class='chart'><figcaption>{escape(title)}</figcaption><div>"
        f"<svg class='scale' width='{_SCALE}' height='{height}' aria-hidden='true'>{scale}</svg>"
        f"<svg class='curve' role='img' aria-label='{escape(title, quote=True)} by {along}' "
        f"width='100%' height='{height}'>{''.join(grid)}"
        f"<svg y='{_READING}' width='100%' height='{_PLOT}' viewBox='0 0 {_UNITS} {_UNITS}' "
        f"preserveAspectRatio='none'>{''.join(inner)}</svg>{_phase_lines(phases, x, kind)}"
        f"{''.join(points)}{''.join(steps_below)}{_readings(series, lines, kind, x, along)}</svg></div>"
        "</figure>\n"
    )


def short_number(value: float) -> str:
    """0 -> "0", 1500 -> "1.5k", 2000000 -> "2M", 0.25 -> "0.25", 0.0001 -> "1e-4"."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    if value and abs(value) < 1e-3:
        mantissa, exponent = f"{value:.3e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:.4g}"


def _scale(series, lines, kind):
    """(lowest value, highest value, ticks) of the scale."""
    shown = np.concatenate(
        [line[1] for line in lines] + [np.asarray(one.point_values, float) for one in series]
    )
    low, high = (0.0 if kind.from_zero else shown.min()), shown.max()
    if kind.cut_spikes:
        high = min(high, 1.5 * np.percentile(shown, 98))
    if high <= low:
        high = low + (abs(low) or 1.0) * 0.1
    ticks = _ticks(low, high, 4)
    room = 0.05 * (high - low)  # margin, so that no line is drawn on the edge
    return low if kind.from_zero else low - room, high + room, ticks


def _ticks(low, high, number):
    """About `number` round values between `low` and `high`."""
    raw = (high - low) / number
    if raw <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.9999)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _paths(colour, line, last_step, low, high):
    steps, means, lowest, highest = line
    if not len(steps):
        return ""
    across = np.round(steps / max(last_step, 1) * _UNITS).astype(int)

    def up(values):
        share = (np.clip(values, low, high) - low) / (high - low)
        return np.round((1 - share) * _UNITS).astype(int)

    def path(xs, ys):
        return "M" + "L".join(f"{a} {b}" for a, b in zip(xs, ys, strict=True))

    band = ""
    if lowest is not means:
        outline = path(np.append(across, across[::-1]), np.append(up(highest), up(lowest)[::-1]))
        band = f"<path class='band c{colour}' d='{outline}Z'/>"
    return f"{band}<path class='line c{colour}' d='{path(across, up(means))}'/>"


def _point(x, y, colour, radius):
    return f"<circle class='c{colour}' cx='{x:.2f}%' cy='{y:.1f}' r='{radius}'/>"


def _phase_lines(phases, x, kind):
    parts = []
    for step, name in phases:
        # The name goes where curves leave room: below for rising curves, above for losses, which fall. Near
        # the right edge it goes to the left of its line.
        y = _READING + (_PLOT - 8 if kind.from_zero else 14)
        side = "dx='5'" if x(step) < 80 else "dx='-5' text-anchor='end'"
        parts.append(
            f"<line class='phase' x1='{x(step):.2f}%' x2='{x(step):.2f}%' y1='{_READING}' "
            f"y2='{_READING + _PLOT}'/><text class='phase' x='{x(step):.2f}%' {side} y='{y}'>"
            f"{escape(name)}</text>"
        )
    return "".join(parts)


def _readings(series, lines, kind, x, along):
    """Columns that show their values while the pointer is in them; otherwise the last values are shown."""
    steps = sorted({int(step) for line in lines for step in line[0]} | _point_steps(series))
    if len(steps) > _MOST_COLUMNS:
        wanted = np.linspace(steps[0], steps[-1], _MOST_COLUMNS)
        steps = [steps[place] for place in np.unique(np.searchsorted(steps, wanted - 1e-6 * steps[-1]))]
    middles = [(x(a) + x(b)) / 2 for a, b in zip(steps, steps[1:], strict=False)]
    edges = [0.0, *middles, 100.0]
    whole = [(one.steps, one.values) for one in series]
    parts = [
        f"<text class='rest' y='14'>{_reading(series, whole, kind, _newest(series), None, along)}</text>"
    ]
    for index, step in enumerate(steps):
        left, right = edges[index], edges[index + 1]
        reach = max(b - a for a, b in zip(steps, steps[1:], strict=False)) if len(steps) > 1 else 1
        parts.append(
            f"<g class='column'><rect x='{left:.2f}%' y='0' width='{right - left:.2f}%' "
            f"height='{_READING + _PLOT}'/><line x1='{x(step):.2f}%' x2='{x(step):.2f}%' y1='{_READING}' "
            f"y2='{_READING + _PLOT}'/><text y='14'>"
            f"{_reading(series, lines, kind, step, reach, along)}</text></g>"
        )
    return "".join(parts)


def _newest(series):
    """The last step of a line; of a point where there are only points, which evaluations alone give."""
    lines = [int(one.steps[-1]) for one in series if one.steps]
    return max(lines or _point_steps(series), default=0)


def _point_steps(series):
    return {step for one in series for step in one.point_steps}


def _reading(series, lines, kind, step, reach, along):
    """ "step 1,000  5.31  ● 5.40", with the values in the colours of their runs; "●": an evaluation."""
    parts = [f"{along} {step:,}"]
    for one, line in zip(series, lines, strict=True):
        for steps, values, sign in ((line[0], line[1], ""), (one.point_steps, one.point_values, "● ")):
            value = _nearest(steps, values, step, reach)
            if value is not None:
                parts.append(f"<tspan class='c{one.colour}' dx='9'>{sign}{escape(kind.text(value))}</tspan>")
    return "".join(parts)


def _nearest(steps, values, step, reach):
    """The value at the step nearest to `step`, if that is within half of `reach`."""
    steps = list(steps)
    if not steps:
        return None
    place = bisect.bisect_left(steps, step)
    near = min((i for i in (place - 1, place) if 0 <= i < len(steps)), key=lambda i: abs(steps[i] - step))
    return values[near] if reach is None or abs(steps[near] - step) <= reach / 2 else None


def _anchor(percent):
    return "start" if percent < 3 else "end" if percent > 97 else "middle"


# Okabe and Ito's colours come first, as in all pages; on a dark background they are lighter.
STYLE = textwrap.dedent("""
    :root { --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b4548c; --c4: #2f9bd6; --c5: #b8860b;
            --c6: #6a51a3; --c7: #555; }
    @media (prefers-color-scheme: dark) {
      :root { --c0: #56b4e9; --c1: #e69f00; --c2: #3ac19a; --c3: #e08fbd; --c4: #9ad0f0; --c5: #f0e442;
              --c6: #b3a2e0; --c7: #bbb; }
    }
    .charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr));
              gap: .6rem 2.4rem; }
    .chart { margin: .6rem 0; min-width: 0; }
    .chart > div { display: flex; }
    .chart svg { max-width: none; margin: 0; overflow: visible; }
    .chart .scale { flex: none; }
    .chart svg svg { overflow: hidden; }
    .chart figcaption { color: var(--ink); font-size: 1rem; font-weight: 600; margin-left: 50px; }
    .chart text { font-size: 12px; fill: var(--pale); font-variant-numeric: tabular-nums; }
    .chart line { stroke: var(--faint); }
    .chart line.phase { stroke: var(--pale); stroke-dasharray: 3 3; }
    .chart text.phase { stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
    .chart .line { fill: none; stroke: var(--c); stroke-width: 1.8px; stroke-linejoin: round;
                   vector-effect: non-scaling-stroke; }
    .chart .band { fill: var(--c); opacity: .18; }
    .chart circle { fill: var(--c); stroke: var(--paper); stroke-width: 1.2px; }
    .chart tspan { fill: var(--c); font-weight: 600; }
    .column rect { fill: transparent; }
    .column text, .column line { visibility: hidden; pointer-events: none; }
    .chart .column line { stroke: var(--pale); }
    .column:hover text, .column:hover line { visibility: visible; }
    .curve:hover .rest { visibility: hidden; }
    """) + "".join(f".c{number} {{ --c: var(--c{number}); }}\n" for number in range(NUM_COLOURS))
