"""An evaluation -> a page with its scores, pictures of its answers and worst errors, smaller than 2 MB."""

import numbers
from pathlib import Path

from absl import logging

from kbert.reports.page import write_page
from kbert.reports.run_charts import quality_charts
from kbert.reports.run_metrics import RunMetrics
from kbert.tasks.pages import content

_FOR_EXAMPLES = (
    1_200_000  # bytes of the 2 MB of a page; everything else is bounded by its numbers of rows and points
)


def write_evaluation_page(
    folder: Path,
    data: str,
    step: int | None,
    best: str,
    metrics: dict,
    sections: list[content.Section],
    path: Path,
    counted: str | None = None,
):
    """Writes the page of an evaluation. The file appears only when it is complete.

    Args:
      folder: the run's folder, whose metrics.jsonl gives the learning curves.
      data: the name of the evaluated file or folder of records.
      step: the step of the checkpoint; None where it is not known.
      best: the metric that the page begins with.
      metrics: name -> number, of the evaluation; tables are left to `sections`.
      sections: those of `Task.page`.
      path: the .html file to write; its folder is made where it is missing.
      counted: what was evaluated, such as "225 queries"; by default the number of examples.

    Raises:
      ValueError: when a section holds something that the page cannot show.
      OSError: when it cannot be written; the log has the metrics then.
    """
    for section in sections:
        if not isinstance(section.content, content.Content):
            raise ValueError(
                f"a section of a page holds {type(section.content).__name__}; expected one of the kinds of "
                "kbert.tasks.pages.content."
            )
    try:
        write_page(
            path,
            "evaluation.html",
            title=f"{folder.resolve().name} on {Path(data).name}",
            metrics=metrics,
            best=best,
            step=step,
            data=Path(data).name,
            counted=counted or f"{metrics['num_examples']:,} examples",
            sections=sections,
            most_bytes=_FOR_EXAMPLES
            // max(1, sum(isinstance(section.content, content.Cards) for section in sections)),
            curves=_curves(folder),
        )
    except OSError:  # a full disk loses no metrics
        plain = {name: value for name, value in metrics.items() if isinstance(value, numbers.Real)}
        logging.warning("%s was not written; the metrics are %s", path, plain)
        raise


def _curves(folder):
    """The losses and scores of the run; nothing for a run without metrics, such as a converted one."""
    try:
        runs = RunMetrics.read_all({"": folder})
    except ValueError:
        return []
    return [(f"{heading} of the run", charts) for heading, charts in quality_charts(runs)]
