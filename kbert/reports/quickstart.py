"""The results of a quickstart: a page, and a table for the terminal."""

import base64
from pathlib import Path

from kbert.reports.page import render
from kbert.reports.page import write_page as _write_page
from kbert.tasks.pages.content import shortened

_COLUMNS = 99


def write_page(results: dict, curves_png: bytes, path: str | Path):
    """Writes the page. The file appears only when it is complete.

    Args:
      results: the results of the quickstart, ready for JSON.
      curves_png: the picture of the training curves.
      path: the .html file to write.
    """
    picture = base64.b64encode(curves_png).decode("ascii")
    _write_page(path, "quickstart.html", title="kbert quickstart", picture=picture, **results)


def results_table(results: dict) -> str:
    """The results as plain text, less than 100 columns wide except for the paths at its end (never cut)."""
    table = render("quickstart.txt", **results)
    paths = [f"{what:<32}{where}" for what, where in results["paths"].items()]
    return "\n".join([*(shortened(line.rstrip(), _COLUMNS) for line in table.splitlines()), "", *paths])


def pretrained_table(figures: dict) -> str:
    """Of a pretrained encoder: licence, scores on texts that were not trained on, answers, how to serve it.

    Args:
      figures: `encoder`, `licence`, `errors` and `serve`; `test`, the metrics of the evaluation;
        `examples`, a list of `ShownExample`; `total_seconds`.
    """
    return render("quickstart_pretrained.txt", **figures)
