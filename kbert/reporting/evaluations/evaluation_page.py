"""An evaluation -> an HTML page with its scores, pictures of its answers and its worst errors.

The page is one file without scripts that needs nothing else, and it is smaller than `MOST_BYTES`.
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

from kbert.files.whole_file import write_text
from kbert.reporting import line_pictures, run_charts
from kbert.reporting.evaluations import contents
from kbert.reporting.html_page import page, section, table
from kbert.reporting.run_metrics import RunMetrics, words
from kbert.tasks.pages.content import Section

MOST_BYTES = 2_000_000  # of a page
_FOR_EXAMPLES = (
    1_200_000  # of them for examples; everything else is bounded by its numbers of rows and points
)


class EvaluatedRun(NamedTuple):
    """What was evaluated.

    Args:
      folder: the run's folder, whose metrics.jsonl gives the learning curves.
      data: the name of the evaluated file or folder of records.
      step: the step of the checkpoint.
      best_metric: the metric that the page begins with.
    """

    folder: Path
    data: str
    step: int
    best_metric: str


def write_evaluation_page(evaluated: EvaluatedRun, metrics: dict, sections: list[Section], path: str | Path):
    """Writes the page of an evaluation. The file appears only when it is complete.

    Args:
      evaluated: what was evaluated.
      metrics: name -> number, of the evaluation; tables are left to `sections`.
      sections: those of `Task.metrics_page` and `Task.examples_page`.
      path: the .html file to write; its folder is made where it is missing.
    """
    number = sum(isinstance(part.content, contents.kinds.Cards) for part in sections)
    drawn = [contents.drawn_section(part, _FOR_EXAMPLES // max(1, number)) for part in sections]
    parts = [section("Scores", _scores(metrics)), *drawn, *_curves(evaluated.folder)]
    title = f"{evaluated.folder.resolve().name} on {Path(evaluated.data).name}"
    style = line_pictures.STYLE + run_charts.STYLE + contents.STYLE
    html = page(title, _lead(evaluated, metrics), _note(evaluated), parts, style)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_text(html, path)


def _lead(evaluated, metrics):
    name = evaluated.best_metric
    score = f"<b>{escape(words(name))} {_shown(metrics[name])}</b> on " if name in metrics else ""
    return f"{score}{metrics['num_examples']:,} examples of <b>{escape(Path(evaluated.data).name)}</b>."


def _note(evaluated):
    return f"Checkpoint of step {evaluated.step:,}. Numbers are those of the JSON line of the evaluation."


def _scores(metrics):
    rows = [(words(name), _shown(value)) for name, value in metrics.items() if not isinstance(value, list)]
    return table(["on this data", "value"], rows)


def _shown(value):
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _curves(folder):
    """The losses and scores of the training; nothing for a run without metrics, such as a converted one."""
    try:
        runs = [RunMetrics.read(folder, folder.resolve().name)]
    except ValueError:
        return []
    return [
        section(f"{heading} of the training", charts)
        for heading, charts in run_charts.quality_charts(runs).items()
    ]
