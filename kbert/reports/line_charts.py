"""Metrics by step as pictures: SVG for a page, with the values under the pointer, or one PNG of many."""

import bisect
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kbert.reports.pictures import COLOURS, INK, PALE, PAPER, columns, new_figure, render_svg

_MOST_POINTS = 400  # of a line; a screen cannot show more
_MOST_READINGS = 48  # columns of a chart that tell their values under the pointer
_SCALE = "{:,.10g}".format


class Series(NamedTuple):
    """The values of one run in a chart: a line with ascending steps, and points, which are evaluations.

    `colour` is an index of `COLOURS`.
    """

    name: str
    colour: int
    steps: Sequence[float]
    values: Sequence[float]
    point_steps: Sequence[float] = ()
    point_values: Sequence[float] = ()


class Kind(NamedTuple):
    """How the values of a kind of metric are shown.

    `text` and `tick` give a value as text under the pointer and on the scale; `from_zero`: the scale begins
    at 0; `cut_spikes`: rare values far above the others are cut off.
    """

    text: Callable
    tick: Callable = _SCALE
    from_zero: bool = True
    cut_spikes: bool = False


@dataclass(frozen=True)
class Chart:
    """One metric by step, of one or several runs.

    Args:
      title: plain text.
      series: those of the runs, at least one of them not empty.
      kind: how to show the values.
      last_step: the step at the right edge; the left edge is step 0.
      phases: a pair (step, name) for each step where a new phase begins.
    """

    title: str
    series: list[Series]
    kind: Kind
    last_step: int
    phases: Sequence[tuple[int, str]] = ()

    def newest(self) -> int:
        """The last step of a line; of a point where there are only points, as evaluations alone give."""
        lines = [series.steps[-1] for series in self.series if len(series.steps)]
        return int(
            max(lines or (series.point_steps[-1] for series in self.series if len(series.point_steps)))
        )

    @property
    def ends_together(self) -> bool:
        """Whether the last values of all its lines and points are of one step."""
        steps = (own for series in self.series for own in (series.steps, series.point_steps))
        return len({int(own[-1]) for own in steps if len(own)}) == 1

    def readings(self, step: float, reach: float = np.inf) -> list[tuple[Series, str]]:
        """(series, value) of what lies nearest to a step, within half of `reach`; "●" is an evaluation."""
        readings = []
        for series in self.series:
            for steps, values, sign in (
                (series.steps, series.values, ""),
                (series.point_steps, series.point_values, "● "),
            ):
                after = bisect.bisect_left(steps, step)
                neighbours = [index for index in (after - 1, after) if 0 <= index < len(steps)]
                nearest = min(neighbours, key=lambda index: abs(steps[index] - step), default=None)
                if nearest is not None and abs(steps[nearest] - step) <= reach / 2:
                    readings.append((series, sign + self.kind.text(values[nearest])))
        return readings


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
    starts = np.unique(np.searchsorted(steps, np.linspace(steps[0], steps[-1], most + 1)[:-1]))
    sizes = np.diff(np.append(starts, len(steps)))
    means = [np.add.reduceat(numbers, starts) / sizes for numbers in (steps, values)]
    return *means, np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)


def line_chart(chart: Chart) -> str:
    """A chart as SVG; its columns tell their values."""
    steps = np.unique(
        np.concatenate([[*series.steps, *series.point_steps] for series in chart.series]).astype(int)
    )
    if len(steps) > _MOST_READINGS:
        wanted = np.linspace(steps[0], steps[-1], _MOST_READINGS)
        steps = steps[np.unique(np.searchsorted(steps, wanted - 1e-6 * steps[-1]))]
    reach = np.diff(steps).max() if len(steps) > 1 else 1
    edges = [0, *(steps[1:] + steps[:-1]) / 2, chart.last_step]
    titles = [_title(chart, step, reach) for step in steps]
    with new_figure(6.2, 2.6) as figure:
        axes = figure.subplots()
        _draw(axes, chart)
        return render_svg(figure, f"{chart.title} by step", columns(axes, edges, titles))


def _title(chart, step, reach):
    several = len(chart.series) > 1
    texts = [f"{series.name} {text}" if several else text for series, text in chart.readings(step, reach)]
    return f"step {step:,}: {'  '.join(texts)}"


def _draw(axes, chart):
    for series in chart.series:
        _draw_series(axes, series, COLOURS[series.colour])
    axes.set_xlim(0, max(chart.last_step, 1))
    low, high = axes.get_ylim()
    if chart.kind.cut_spikes:
        usual = np.percentile(
            np.concatenate([[*series.values, *series.point_values] for series in chart.series]), 98
        )
        high = min(high, 1.5 * usual or high)
    axes.set_ylim(0 if chart.kind.from_zero else low, high)
    axes.locator_params(nbins=5)
    axes.xaxis.set_major_formatter(lambda value, _: _SCALE(value))
    axes.yaxis.set_major_formatter(lambda value, _: chart.kind.tick(value))
    for step, name in chart.phases:
        # The name goes where curves leave room: below for rising curves, above for losses, which fall.
        height = 0.05 if chart.kind.from_zero else 0.9
        side = "right" if step > 0.8 * chart.last_step else "left"
        axes.axvline(step, color=PALE, linewidth=0.8, linestyle="--")
        axes.text(step, height, f" {name} ", transform=axes.get_xaxis_transform(), ha=side)


def _draw_series(axes, series, colour):
    steps, means, lowest, highest = thin(series.steps, series.values)
    # One or two log intervals would hardly be visible as a line.
    few = {"marker": "o", "markersize": 3} if len(steps) < 3 else {}
    axes.plot(steps, means, color=colour, label=series.name, **few)
    if lowest is not means:
        axes.fill_between(steps, lowest, highest, color=colour, alpha=0.18, linewidth=0)
    size = 6 if len(series.point_steps) <= 30 else 4
    dots = {"color": colour, "markeredgecolor": PAPER, "markersize": size, "clip_on": False}
    axes.plot(series.point_steps, series.point_values, "o", **dots)


def render_png(charts: list[Chart], title: str) -> bytes:
    """All charts in one picture, two in a row: the bytes of a PNG, 1200 pixels wide."""
    rows = -(-len(charts) // 2)
    height = 0.5 + 2.9 * rows
    with new_figure(12, height) as figure:
        figure.suptitle(title, x=0.02, y=1 - 0.15 / height, ha="left", va="top", color=INK, size=13)
        grid = figure.subplots(rows, 2, squeeze=False)
        edges = {"left": 0.06, "top": 1 - 0.9 / height, "bottom": 0.4 / height}
        figure.subplots_adjust(wspace=0.2, hspace=0.35, **edges)
        for axes, chart in zip(grid.flat, charts, strict=False):
            _draw(axes, chart)
            axes.set_title(chart.title, loc="left", color=INK)
            if len(chart.series) > 1:
                axes.legend(frameon=False)
        for axes in grid.flat[len(charts) :]:
            axes.remove()
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=100, facecolor="white", metadata={"Software": None})
    return file.getvalue()
