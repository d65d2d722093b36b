"""The results of GLUE as a table for a terminal, and as a page."""

from pathlib import Path

from kbert.reports import page
from kbert.reports.text_table import text_table

_HEADS = ("task", "metric", "mean", "deviation", "best run", "learning rate", "runs", "failed")


def glue_rows(summary: dict) -> list[list[str]]:
    """A row for each metric of each task, as texts."""
    rows = []
    for name, task in summary["tasks"].items():
        for index, (metric, values) in enumerate(task["metrics"].items()):
            deviation = values["deviation"]
            first = (f"{task['learning_rate']:g}", str(task["runs"]), str(task["failed_runs"]))
            rows.append(
                [
                    "" if index else name,
                    metric,
                    f"{values['mean']:.4f}",
                    "" if deviation is None else f"{deviation:.4f}",
                    f"{task['best_run']['metrics'][metric]:.4f}",
                    *(("", "", "") if index else first),
                ]
            )
    return rows


def average_sentence(summary: dict) -> str:
    """The average in words; empty where there is none."""
    average = summary["average"]
    if average["value"] is None:
        return ""
    left_out = "; WNLI is left out, as in the BERT paper" if "wnli" in summary["tasks"] else ""
    tasks = len(average["tasks"])
    return f"average of {tasks} task{'s' if tasks > 1 else ''}: {average['value']:.4f}{left_out}"


def glue_table(summary: dict) -> str:
    """The table for a terminal."""
    table = text_table([_HEADS, *glue_rows(summary)], num_text_columns=2)
    return f"{table}\n{average_sentence(summary)}".rstrip()


def write_page(summary: dict, path: str | Path):
    """Writes the page: the table, and below it every learning rate."""
    rows, average = glue_rows(summary), average_sentence(summary)
    page.write_page(
        path, "glue.html", title="GLUE", heads=_HEADS, rows=rows, average=average, tasks=summary["tasks"]
    )
