"""The charts of one or several runs by step: losses, scores, optimization and speed."""

from html import escape

from kbert.readable_numbers import readable_count
from kbert.reporting.bar_pictures import percent
from kbert.reporting.line_pictures import Kind, Series, chart, short_number
from kbert.reporting.run_metrics import RunMetrics, is_loss, is_score, words

_LOSS = Kind(text="{:.4f}".format, tick=short_number, from_zero=False)
_SCORE = Kind(text=lambda value: percent(value, 2), tick=lambda value: f"{100 * value:.4g}%")
_RATE = Kind(text="{:.3g}".format, tick=short_number)
_NORM = Kind(text="{:.3f}".format, tick=short_number, cut_spikes=True)
_SPEED = Kind(
    text=lambda value: f"{value:,.1f}" if value < 1000 else readable_count(value), tick=short_number
)
_SPEEDS = {
    "examples_per_second": _SPEED,
    "tokens_per_second": _SPEED,
    "share_of_peak": _SCORE,
    "token_share": _SCORE,
}
_TITLES = {
    "token_share": "Real tokens among all positions (the rest is padding)",
    "share_of_peak": "Share of peak FLOP/s",
}


def quality_charts(runs: list[RunMetrics]) -> dict[str, str]:
    """Heading -> HTML of the charts of losses and of scores, where the runs have any."""
    return _with_legend(
        runs, {"Losses": _charts(runs, is_loss, _LOSS), "Scores": _charts(runs, is_score, _SCORE)}
    )


def course_charts(runs: list[RunMetrics]) -> dict[str, str]:
    """Heading -> HTML of the charts of how the training went, where the runs have any."""
    rates = _charts(runs, "learning_rate".__eq__, _RATE) + _charts(runs, "gradient_norm".__eq__, _NORM)
    speeds = "".join(_charts(runs, name.__eq__, kind) for name, kind in _SPEEDS.items())
    return _with_legend(runs, {"Optimization": rates, "Speed": speeds})


def _with_legend(runs, headings):
    return {
        heading: f"{_legend(runs)}<div class='charts'>\n{charts}</div>"
        for heading, charts in headings.items()
        if charts
    }


def _charts(runs, is_wanted, kind):
    names = dict.fromkeys(name for run in runs for name in run.names(is_wanted))
    last_step = max(run.last("step") for run in runs)
    phases = runs[0].phases() if len(runs) == 1 else ()
    charts = []
    for name in names:
        series = [
            Series(colour, *run.training(name), *run.evaluations(name)) for colour, run in enumerate(runs)
        ]
        if any(one.steps or one.point_steps for one in series):
            charts.append(chart(_title(name), series, kind, last_step, phases))
    return "".join(charts)


def _title(name):
    return _TITLES.get(name) or words(name)[0].upper() + words(name)[1:]


def _legend(runs):
    if len(runs) == 1:
        return ""
    items = "".join(
        f"<li class='c{colour}'><span></span>{escape(run.name)}</li>" for colour, run in enumerate(runs)
    )
    return f"<ul class='legend'>{items}</ul>"


STYLE = """
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: .2rem 0 .4rem;
          padding: 0; font-size: .92rem; }
.legend span { display: inline-block; width: 1.1rem; height: .28rem; margin-right: .45rem;
               border-radius: 2px; vertical-align: middle; background: var(--c); }
"""
