"""The charts of one or several runs by step: losses, scores, optimization and speed."""

from collections.abc import Mapping
from pathlib import Path

from tqdm import tqdm

from kbert.reports.line_charts import Chart, Kind, Series, render_png
from kbert.reports.page import percent
from kbert.reports.pictures import COLOURS
from kbert.reports.run_metrics import RunMetrics, is_share, words

_NUMBER = Kind("{:.4f}".format, from_zero=False)
_SHARE = Kind(lambda value: percent(value, 2), lambda value: f"{100 * value:.4g}%")
_SPEED = Kind(lambda value: f"{value:,.1f}" if value < 1000 else tqdm.format_sizeof(value))
_COURSE = {
    "Optimization": {
        "learning_rate": Kind("{:.3g}".format),
        "gradient_norm": Kind("{:.3f}".format, cut_spikes=True),
    },
    "Speed": {
        "examples_per_second": _SPEED,
        "tokens_per_second": _SPEED,
        "share_of_peak": _SHARE,
        "token_share": _SHARE,
    },
}
_TITLES = {
    "token_share": "Real tokens among all positions (the rest is padding)",
    "share_of_peak": "Share of peak FLOP/s",
}
Groups = list[tuple[str, list[Chart]]]


def quality_charts(runs: list[RunMetrics]) -> Groups:
    """The charts of losses and of scores: (heading, charts), where the runs have any."""
    losses = dict.fromkeys((name for run in runs for name in run.losses()), _NUMBER)
    scores = {name: _SHARE if is_share(name) else _NUMBER for run in runs for name in run.scores()}
    return _groups(runs, {"Losses": losses, "Scores": scores})


def course_charts(runs: list[RunMetrics]) -> Groups:
    """The charts of how the training went: (heading, charts), where the runs have any."""
    return _groups(runs, _COURSE)


def draw_curves(runs: Mapping[str, str | Path], title: str) -> bytes:
    """Losses, scores and learning rate of one or several runs as one picture.

    Args:
      runs: the name to show -> the run's folder, which holds a metrics.jsonl.
      title: the heading.

    Returns:
      The bytes of a PNG, 1200 pixels wide.

    Raises:
      ValueError: when there is no run, there are more runs than colours, or a folder holds no metrics yet;
        the message names the folder.
    """
    read = RunMetrics.read_all(runs)
    charts = [chart for _, charts in quality_charts(read) for chart in charts]
    groups = {"": {"learning_rate": _COURSE["Optimization"]["learning_rate"]}}
    return render_png([*charts, *(chart for _, charts in _groups(read, groups) for chart in charts)], title)


def _groups(runs, headings):
    if len(runs) > len(COLOURS):
        raise ValueError(
            f"{len(runs)} runs are more than a picture has colours for; give {len(COLOURS)} or fewer."
        )
    groups = [(heading, _charts(runs, kinds)) for heading, kinds in headings.items()]
    return [(heading, charts) for heading, charts in groups if charts]


def _charts(runs, kinds):
    phases = runs[0].phases() if len(runs) == 1 else ()
    charts = []
    for name, kind in kinds.items():
        series = [
            Series(run.name, colour, *run.training(name), *run.evaluations(name))
            for colour, run in enumerate(runs)
        ]
        last_steps = [run.last("step") for run, line in zip(runs, series, strict=True) if any(line[2:])]
        if last_steps:
            title = _TITLES.get(name) or words(name)[0].upper() + words(name)[1:]
            charts.append(Chart(title, series, kind, max(last_steps), phases))
    return charts
